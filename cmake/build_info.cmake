# Run at build time: writes OUT from IN with the commit that is built.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE PESUITE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} log -1 --format=%cs
  OUTPUT_VARIABLE PESUITE_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} diff HEAD OUTPUT_VARIABLE diff ERROR_QUIET)
if(NOT PESUITE_COMMIT)
  set(PESUITE_COMMIT "unknown")
endif()
if(diff)
  set(PESUITE_DIRTY true)
  string(SHA256 PESUITE_DIRTY_HASH "${diff}")
  string(SUBSTRING ${PESUITE_DIRTY_HASH} 0 16 PESUITE_DIRTY_HASH)
else()
  set(PESUITE_DIRTY false)
  set(PESUITE_DIRTY_HASH "")
endif()
configure_file(${IN} ${OUT} @ONLY)
