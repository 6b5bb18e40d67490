/* The one symbol of the library pesuite_mpi: a constant that the program reads after dlopen. All
 * calls but `version` come after a successful `join`, from the thread that joined. */
#ifndef PESUITE_MPI_ENTRY_H_
#define PESUITE_MPI_ENTRY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PESUITE_MPI_ABI 2
#define PESUITE_MPI_SYMBOL "pesuite_mpi_entry"

typedef struct pesuite_mpi {
  uint32_t abi; /* PESUITE_MPI_ABI; a library of another one is not used */
  size_t size;  /* of this struct; fields are only appended */
  void (*version)(char* text, size_t capacity);      /* e.g. "Open MPI v4.1.4"; ends with 0 */
  int32_t (*join)(int32_t* rank, int32_t* size);     /* 0, or MPI's error */
  void (*sum_double)(double* values, int64_t count); /* over all processes, in place */
  void (*sum_float)(float* values, int64_t count);
  /* The same without waiting: the values are not touched until `finish` was called. All processes
   * begin the same sums in the same order. Returns what stands for it. */
  int64_t (*begin_double)(double* values, int64_t count);
  int64_t (*begin_float)(float* values, int64_t count);
  /* Sums go on while these are called: the first returns at once, the second when all are done. */
  void (*advance)(int64_t* begun, size_t count);
  void (*finish)(int64_t* begun, size_t count);
  void (*share)(void* bytes, int32_t count); /* what the process of rank 0 has there */
  /* Among the processes of this machine. */
  void (*local)(int32_t* rank, int32_t* size);
  void (*wait)(void);
  void (*leave)(void); /* once, when all are done */
} pesuite_mpi;

#ifdef __cplusplus
}
#endif
#endif
