# What run.sh runs, one part a line.
judge() {  # judge NAME SECONDS CODE TASK SOLUTION ARGUMENTS...
  local name=$1 limit=$2 code=$3 task=$4 solution=$5
  shift 5
  part "$name" "$limit" "\"code\": ?\"$code\"" "$here/bin/swage" judge --json --task "$task" --solution "$solution" "$@"
}
solution() {  # solution TASK VARIANT: lays a teacher's variant out as a folder, prints its path
  local from=$here/tasks-cuda/$1/teacher to=$here/solutions/$1-$2
  mkdir -p "$to/kernels"
  cp "$from/model_new.py" "$to/"
  cp "$from/run_binding.cpp" "$to/kernels/"
  cp "$from/$2.cu" "$to/kernels/run.cu"
  echo "$to"
}

part machine 60 "NVIDIA" sh -c 'nvidia-smi; nvcc --version; g++ --version; free -g; nproc; uname -a'
part hosts 120 "inside True apart True .*True" "$python" "$here/probe_hosts.py" "$here/share/swage/model_host"
gelu=$here/tasks-cuda/gelu/model.py
rownorm=$here/tasks-cuda/rownorm/model.py
judge gelu-verify 100 ok "$gelu" "$(solution gelu fast)" --device cuda --mode verify
judge gelu-wrong 60 mismatch "$gelu" "$(solution gelu wrong)" --device cuda --mode verify
judge gelu-noise 60 ok "$gelu" "$(solution gelu fast)" --device cuda --ab-noise 2
judge gelu-score 90 ok "$gelu" "$(solution gelu fast)" --device cuda --repeat 2
judge rownorm-score 90 ok "$rownorm" "$(solution rownorm fast)" --device cuda --repeat 2
judge rownorm-slow 60 ok "$rownorm" "$(solution rownorm slow)" --device cuda
cpu=$here/share/swage/tasks/builtin-cpu/gelu
mkdir -p "$here/solutions/cpu/kernels"
cp "$cpu/teacher/model_new.py" "$here/solutions/cpu/"
cp "$cpu/teacher/run_binding.cpp" "$here/solutions/cpu/kernels/"
cp "$cpu/teacher/fast.cpp" "$here/solutions/cpu/kernels/run.cpp"
judge cpu-score 60 ok "$cpu/model.py" "$here/solutions/cpu" --mode score
