/* The one symbol of the library pesuite_cuda: a constant that the program reads after dlopen. */
#ifndef PESUITE_CUDA_ENTRY_H_
#define PESUITE_CUDA_ENTRY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PESUITE_CUDA_ABI 4
#define PESUITE_CUDA_SYMBOL "pesuite_cuda_entry"

typedef struct pesuite_cuda {
  uint32_t abi; /* PESUITE_CUDA_ABI; a library of another one is not used */
  size_t size;  /* of this struct; fields are only appended */
  /* The number of usable devices. Writes a sentence of at most `capacity` bytes, its final 0
   * included: the devices and versions, or why there is none. Any thread. */
  int32_t (*devices)(char* sentence, size_t capacity);
  /* A pesuite::Backend on usable device number `device`, to be deleted by the caller, or null with
   * a sentence. The program and this library are built together: the class is that of the same
   * backend.h. `precision` is a pesuite::Precision. */
  void* (*open)(int32_t device, int32_t precision, char* sentence, size_t capacity);
  /* Writes the 128 bytes by which processes find each other over NCCL. 1, or 0 with a sentence. */
  int32_t (*group_id)(char* id, char* sentence, size_t capacity);
  /* A pesuite::Group of `size` processes with a device each, or null with a sentence. As `open`. */
  void* (*join)(const char* id, int32_t rank, int32_t size, int32_t device, char* sentence,
                size_t capacity);
} pesuite_cuda;

#ifdef __cplusplus
}
#endif
#endif
