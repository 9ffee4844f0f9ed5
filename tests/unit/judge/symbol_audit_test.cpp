#include "gpu_pool/judge/core/symbol_audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace swage::judge {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

std::optional<std::string> refused(const std::string& symbol) {
  ElfSummary library;
  library.imported = {symbol};
  return refused_symbol(library);
}

TEST(SymbolAudit, AllowsWhatAnOrdinaryKernelAndItsBindingNeed) {
  for (const char* symbol : {"memcpy",
                             "__memcpy_chk",
                             "expf",
                             "sqrt",
                             "log1pf",
                             "_ZGVdN8v_expf",
                             "GOMP_parallel",
                             "omp_get_thread_num",
                             "_Znwm",
                             "_ZNSt8ios_base4InitC1Ev",
                             "__cxa_throw",
                             "PyTuple_New",
                             "_Py_NoneStruct",
                             "_ZNK2at10TensorBase8data_ptrIfEEPT_v",
                             "_ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb",
                             "_ZNK2at10TensorBase21__dispatch_contiguousEN3c1012MemoryFormatE",
                             "_ZNSolsEi",
                             "_ZN6caffe28TypeMeta26error_unsupported_typemetaES0_",
                             "_ZTVNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEE",
                             "_ZN3c1019UndefinedTensorImpl10_singletonE",
                             "_ZN2at4_ops10empty_like4callERKNS_6TensorE"})
    EXPECT_EQ(refused(symbol), std::nullopt) << symbol;
}

TEST(SymbolAudit, RefusesWaysAroundTheKernelItself) {
  for (const char* symbol :
       {"dlopen", "dlsym", "syscall", "mmap", "mprotect", "fork", "execve", "system", "ptrace",
        "sgemm_", "_ZN2at4_ops6matmul4callERKNS_6TensorES4_", "_ZN2at6native6linearE",
        "_ZN5torch2nn10functional6linearE", "PyRun_StringFlags", "PyImport_ImportModule",
        "PyEval_EvalCode", "_ZN3c1010Dispatcher17realSingletonEv", "_ZN3c1015SetCPUAllocatorE",
        "_ZN3c104impl24ExcludeDispatchKeyGuardC1ENS_11DispatchKeyE"})
    EXPECT_THAT(refused(symbol), Optional(HasSubstr(symbol)));
}

TEST(SymbolAudit, AllowsLaunchesAndRefusesTheRestOfCuda) {
  for (const char* symbol : {"cudaLaunchKernel", "__cudaRegisterFatBinary", "cudaMemsetAsync"})
    EXPECT_EQ(refused(symbol), std::nullopt) << symbol;
  for (const char* symbol :
       {"cudaIpcOpenMemHandle", "cudaLaunchHostFunc", "cudaStreamAddCallback", "cuMemMap",
        "cuStreamWaitValue32_v2", "cudaGetDriverEntryPointByVersion", "cudaHostRegister"})
    EXPECT_THAT(refused(symbol), Optional(HasSubstr(symbol)));
}

TEST(SymbolAudit, RefusesALibraryThatNeedsAnother) {
  ElfSummary library;
  library.needed = {"libc.so.6", "libm.so.6"};
  EXPECT_EQ(refused_symbol(library), std::nullopt);
  library.needed.emplace_back("libopenblas.so.0");
  EXPECT_THAT(refused_symbol(library), Optional(HasSubstr("libopenblas")));
}

}  // namespace
}  // namespace swage::judge
