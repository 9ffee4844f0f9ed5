# cmake -DSCRIPTS=<folder> -DOUT=<file.cpp> -P embed.cmake: each script behind the prelude, as a
# C++ constant of its name.
file(READ ${SCRIPTS}/prelude.lua prelude)
set(text "#include \"gpu_pool/lease/adapters/script_sources.hpp\"\n\nnamespace swage::lease::script_sources {\n")
foreach(name acquire cancel cleared forget heartbeat inspect install poll register release renew
             requalify snapshot sweep)
  file(READ ${SCRIPTS}/${name}.lua body)
  string(SUBSTRING ${name} 0 1 first)
  string(TOUPPER ${first} first)
  string(SUBSTRING ${name} 1 -1 rest)
  string(APPEND text "const char* const k${first}${rest} = R\"lua(${prelude}\n${body})lua\";\n")
endforeach()
string(APPEND text "}  // namespace swage::lease::script_sources\n")
file(WRITE ${OUT} "${text}")
