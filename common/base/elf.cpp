#include "common/base/elf.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace swage {
namespace {

/// The i-th record of type T at `offset`, copied; nothing if it would end past the file.
template <class T>
std::optional<T> record_at(std::string_view file, std::uint64_t offset, std::uint64_t i = 0) {
  if (i > file.size() || offset > file.size()) return std::nullopt;
  const auto at = offset + i * sizeof(T);
  if (at > file.size() || file.size() - at < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, file.data() + at, sizeof out);
  return out;
}

std::optional<std::string> string_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const auto end = table.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(table.substr(offset, end - offset));
}

std::optional<std::string_view> bytes_of(std::string_view file, const Elf64_Shdr& section) {
  if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset)
    return std::nullopt;
  return file.substr(section.sh_offset, section.sh_size);
}

tl::unexpected<std::string> broken() {
  return tl::unexpected(std::string("it is a library that cannot be read"));
}

struct Sections {
  std::vector<Elf64_Shdr> all;
  const Elf64_Shdr* find(std::uint32_t type) const {
    const auto at = std::ranges::find(all, type, &Elf64_Shdr::sh_type);
    return at == all.end() ? nullptr : &*at;
  }
};

std::optional<Sections> read_sections(std::string_view file, const Elf64_Ehdr& header) {
  Sections out;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = record_at<Elf64_Shdr>(file, header.e_shoff, i);
    if (!section) return std::nullopt;
    out.all.push_back(*section);
  }
  return out;
}

bool read_dynamic(std::string_view file, const Sections& sections, ElfSummary& out) {
  const auto* dynamic = sections.find(SHT_DYNAMIC);
  if (dynamic == nullptr || dynamic->sh_link >= sections.all.size()) return false;
  const auto entries = bytes_of(file, *dynamic);
  const auto names = bytes_of(file, sections.all[dynamic->sh_link]);
  if (!entries || !names) return false;
  for (std::uint64_t i = 0; i < entries->size() / sizeof(Elf64_Dyn); ++i) {
    const auto entry = record_at<Elf64_Dyn>(*entries, 0, i);
    if (!entry) return false;
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_RPATH || entry->d_tag == DT_RUNPATH) out.has_run_path = true;
    if (entry->d_tag != DT_NEEDED) continue;
    auto name = string_at(*names, entry->d_un.d_val);
    if (!name) return false;
    out.needed.push_back(std::move(*name));
  }
  return true;
}

bool read_symbols(std::string_view file, const Sections& sections, ElfSummary& out) {
  const auto* table = sections.find(SHT_DYNSYM);
  if (table == nullptr || table->sh_link >= sections.all.size()) return false;
  const auto symbols = bytes_of(file, *table);
  const auto names = bytes_of(file, sections.all[table->sh_link]);
  const auto* version_section = sections.find(SHT_GNU_versym);
  const auto versions =
      version_section == nullptr ? std::string_view{} : bytes_of(file, *version_section);
  if (!symbols || !names || !versions) return false;
  for (std::uint64_t i = 1; i < symbols->size() / sizeof(Elf64_Sym); ++i) {
    const auto symbol = record_at<Elf64_Sym>(*symbols, 0, i);
    if (!symbol) return false;
    auto name = string_at(*names, symbol->st_name);
    if (!name) return false;
    const auto binding = ELF64_ST_BIND(symbol->st_info);
    // Above 1 is a version, and a version names the library that the linker found the symbol in.
    const auto version = record_at<std::uint16_t>(*versions, 0, i).value_or(1) & 0x7fff;
    if (symbol->st_shndx != SHN_UNDEF) {
      if (binding != STB_LOCAL) out.exported.push_back(std::move(*name));
      continue;
    }
    out.imported.push_back(*name);
    if (binding == STB_GLOBAL && version <= 1) out.undefined.push_back(std::move(*name));
  }
  return true;
}

}  // namespace

Result<ElfSummary, std::string> read_elf(std::string_view file) {
  const auto header = record_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 ||
      header->e_type != ET_DYN)
    return broken();
  ElfSummary out;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = record_at<Elf64_Phdr>(file, header->e_phoff, i);
    if (!segment) return broken();
    if (segment->p_type == PT_GNU_STACK && (segment->p_flags & PF_X) != 0)
      out.executable_stack = true;
  }
  const auto sections = read_sections(file, *header);
  if (!sections || !read_dynamic(file, *sections, out) || !read_symbols(file, *sections, out))
    return broken();
  return out;
}

}  // namespace swage
