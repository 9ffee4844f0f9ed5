// Exists so that the precompiled torch header has a target of its own.
