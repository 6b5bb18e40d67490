# Compares the types behind pes_entry in OLD and NEW, two builds of one source, with ABIDIFF. What was
# appended to a struct is fine; what moved, changed or went is not.
execute_process(COMMAND ${ABIDIFF} ${OLD} ${NEW} OUTPUT_VARIABLE output ERROR_VARIABLE output
                RESULT_VARIABLE code)
math(EXPR bad "${code} & 11") # 1 and 2: abidiff could not do its work; 8: a symbol is gone
if(bad OR output MATCHES "offset changed|deletion|[1-9][0-9]* Removed|size changed from [^\n]*\n[^\n]*enumerator")
  message(FATAL_ERROR "plugins compiled against the first header would no longer load:\n${output}")
endif()
