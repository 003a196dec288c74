# cmake -DPROGRAM=oncekey -DFOLDER=BUILD -P manual.cmake : the program writes its manual pages to
# FOLDER/man and its completions to FOLDER/completions, from its commands' definitions. Packed pages,
# as Debian has them, are in FOLDER/man/packed.
file(REMOVE_RECURSE ${FOLDER}/man ${FOLDER}/completions)
file(MAKE_DIRECTORY ${FOLDER}/man/packed ${FOLDER}/completions)
execute_process(COMMAND ${PROGRAM} man --into ${FOLDER}/man COMMAND_ERROR_IS_FATAL ANY)
foreach(file IN ITEMS bash/oncekey.bash zsh/_oncekey fish/oncekey.fish)
  get_filename_component(shell ${file} DIRECTORY)
  get_filename_component(name ${file} NAME)
  execute_process(COMMAND ${PROGRAM} completions ${shell}
    OUTPUT_FILE ${FOLDER}/completions/${name} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
find_program(GZIP gzip REQUIRED)
file(GLOB pages ${FOLDER}/man/*.1)
foreach(page IN LISTS pages)
  get_filename_component(name ${page} NAME)
  execute_process(COMMAND ${GZIP} -9nc ${page}
    OUTPUT_FILE ${FOLDER}/man/packed/${name}.gz COMMAND_ERROR_IS_FATAL ANY)
endforeach()
