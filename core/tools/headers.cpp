// Nothing: CMake wants a source to precompile headers for.
