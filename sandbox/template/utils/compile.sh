#!/bin/bash
# Compiles *.cpp and *.cu of this directory and of kernels/ into the module cuda_extension.
cd "$(dirname "${BASH_SOURCE[0]}")/.." && exec python3 -m utils.compile
