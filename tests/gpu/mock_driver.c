/* A libcuda.so.1 without a device: with it cuDNN compiles kernels and finalizes plans on any
 * machine, so that graphs, engines and workspaces can be tested. Loading a kernel gives a handle to
 * nothing, all else succeeds and does nothing; nothing can be run. The names are those that
 * cuDNN 9.19 looks up (LD_DEBUG=symbols shows them). The CUDA runtime asks for more, is told that
 * it is not there, and reports no device. */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
enum { success = 0, not_found = 500 };

#define DOES_NOTHING(name) \
  EXPORT int name(void) {  \
    return success;        \
  }
DOES_NOTHING(cuInit)
DOES_NOTHING(cuCtxGetCurrent)
DOES_NOTHING(cuCtxGetDevice)
DOES_NOTHING(cuCtxGetLimit)
DOES_NOTHING(cuCtxPopCurrent)
DOES_NOTHING(cuCtxPushCurrent)
DOES_NOTHING(cuDeviceGet)
DOES_NOTHING(cuDeviceGetAttribute)
DOES_NOTHING(cuDevicePrimaryCtxRelease)
DOES_NOTHING(cuDevicePrimaryCtxReset)
DOES_NOTHING(cuDevicePrimaryCtxRetain)
DOES_NOTHING(cuFuncGetAttribute)
DOES_NOTHING(cuFuncSetAttribute)
DOES_NOTHING(cuKernelGetAttribute)
DOES_NOTHING(cuKernelSetAttribute)
DOES_NOTHING(cuLaunchCooperativeKernel)
DOES_NOTHING(cuLaunchKernel)
DOES_NOTHING(cuLaunchKernelEx)
DOES_NOTHING(cuLibraryLoadFromFile)
DOES_NOTHING(cuLibraryUnload)
DOES_NOTHING(cuLinkAddData)
DOES_NOTHING(cuLinkAddData_v2)
DOES_NOTHING(cuLinkAddFile_v2)
DOES_NOTHING(cuLinkComplete)
DOES_NOTHING(cuLinkCreate)
DOES_NOTHING(cuLinkCreate_v2)
DOES_NOTHING(cuLinkDestroy)
DOES_NOTHING(cuMemcpyDtoH_v2)
DOES_NOTHING(cuModuleGetGlobal_v2)
DOES_NOTHING(cuModuleLoadFatBinary)
DOES_NOTHING(cuModuleUnload)
DOES_NOTHING(cuOccupancyMaxActiveBlocksPerMultiprocessor)
DOES_NOTHING(cuOccupancyMaxPotentialClusterSize)
DOES_NOTHING(cuStreamGetCtx)
DOES_NOTHING(cuStreamSynchronize)
DOES_NOTHING(cuTensorMapEncodeTiled)

#define GIVES_A_HANDLE(name)    \
  EXPORT int name(void** out) { \
    static char nothing;        \
    *out = &nothing;            \
    return success;             \
  }
GIVES_A_HANDLE(cuLibraryLoadData)
GIVES_A_HANDLE(cuLibraryGetKernel)
GIVES_A_HANDLE(cuKernelGetFunction)
GIVES_A_HANDLE(cuModuleLoadData)
GIVES_A_HANDLE(cuModuleLoadDataEx)
GIVES_A_HANDLE(cuModuleGetFunction)

EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
EXPORT int cuDeviceGetCount(int* count) {
  *count = 0;
  return success;
}
EXPORT int cuGetErrorName(int error, const char** name) {
  (void)error;
  *name = "MOCK";
  return success;
}
EXPORT int cuGetErrorString(int error, const char** text) {
  (void)error;
  *text = "a driver without a device";
  return success;
}
EXPORT int cuGetExportTable(const void** table, const void* id) {
  (void)id;
  *table = NULL;
  return not_found;
}
EXPORT int cuGetProcAddress_v2(const char* name, void** out, int version, unsigned long flags,
                               int* status) {
  (void)version, (void)flags;
  void* const self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  *out = self != NULL ? dlsym(self, name) : NULL;
  if (status != NULL) *status = *out != NULL ? 0 : 1;
  return *out != NULL ? success : not_found;
}
EXPORT int cuGetProcAddress(const char* name, void** out, int version, unsigned long flags) {
  return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
