// A library of another major version of the ABI, and of an encoding's name that is taken.
#include <pesuite/pesuite.hpp>

extern "C" const pes_library pes_entry = {
    sizeof(pes_library), PES_ABI_MAJOR + 1, 3, "other", "9.0.0", "MIT", nullptr, nullptr, 0};
