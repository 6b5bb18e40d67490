/* The one symbol of the library pesuite_cuda: a constant that the program reads after dlopen. */
#ifndef PESUITE_CUDA_ENTRY_H_
#define PESUITE_CUDA_ENTRY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PESUITE_CUDA_ABI 1
#define PESUITE_CUDA_SYMBOL "pesuite_cuda_entry"

typedef struct pesuite_cuda {
  uint32_t abi; /* PESUITE_CUDA_ABI; a library of another one is not used */
  size_t size;  /* of this struct; fields are only appended */
  /* The number of usable devices. Writes a sentence of at most `capacity` bytes, its final 0
   * included: the devices and versions, or why there is none. Any thread. */
  int32_t (*devices)(char* sentence, size_t capacity);
} pesuite_cuda;

#ifdef __cplusplus
}
#endif
#endif
