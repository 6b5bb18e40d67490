#include "data/parquet_metadata.h"

#include "data/parquet_values.h"

namespace pesuite::data::parquet {

using thrift::Type;

namespace {

// Fields by the numbers that the format gives them.
Node node_of(thrift::Reader& in, Type type) {
  Node n;
  in.fields(type, [&](int id, Type t) {
    switch (id) {
      case 1: n.type = in.integer(t); return true;
      case 3: n.repetition = in.integer(t); return true;
      case 4: n.name = in.text(t); return true;
      case 5: n.children = in.integer(t); return true;
      case 6: n.converted = in.integer(t); return true;
      default: return false;
    }
  });
  return n;
}

// The columns below node `at`, which is moved behind them.
void add_leaves(Footer& f, std::size_t& at, std::size_t above, const Leaf& group, int depth) {
  if (at >= f.nodes.size() || depth > 64) throw Damaged{"has a schema that does not end"};
  Leaf l = group;
  l.node = at++;
  Node& n = f.nodes[l.node];
  n.above = above;
  if (depth > 0) {
    l.list = l.list || n.repetition == 2;
    l.levels += n.repetition == 0 ? 0 : 1;
  }
  if (n.children <= 0) {
    constexpr int byte_array = 6, decimal = 5, bson = 20;
    l.bytes = n.type == byte_array && n.converted != decimal && n.converted != bson;
    f.leaves.push_back(l);
    return;
  }
  for (std::int64_t i = 0; i < n.children; ++i) add_leaves(f, at, l.node, l, depth + 1);
}

Chunk chunk_of(thrift::Reader& in, Type type) {
  Chunk c;
  const auto read_metadata = [&](int id, Type t) {
    switch (id) {
      case 4: c.codec = in.integer(t); return true;
      case 5: c.values = in.integer(t); return true;
      case 9: c.data = in.integer(t); return true;
      case 11: c.dictionary = in.integer(t); return true;
      default: return false;
    }
  };
  bool elsewhere = false;
  in.fields(type, [&](int id, Type t) {
    switch (id) {
      case 1: elsewhere = !in.text(t).empty(); return true;
      case 3:
        in.fields(t, read_metadata);
        c.here = true;
        return true;
      case 8: c.encrypted = true; return false;
      default: return false;
    }
  });
  c.here = c.here && !elsewhere;
  return c;
}

// Its fields have other numbers in each kind of page.
void read_page(thrift::Reader& in, Type type, Page::Kind kind, Page& p) {
  in.fields(type, [&](int id, Type t) {
    if (id == 1) return p.values = in.integer(t), true;
    if (id == (kind == Page::data_2 ? 4 : 2)) return p.encoding = in.integer(t), true;
    if (kind == Page::data && id == 3) return p.level_encoding = in.integer(t), true;
    if (kind == Page::data_2 && id == 5) return p.level_bytes = in.integer(t), true;
    if (kind == Page::data_2 && id == 6) return p.list_level_bytes = in.integer(t), true;
    if (kind == Page::data_2 && id == 7) return p.is_packed = in.flag(t), true;
    return false;
  });
}

}  // namespace

Footer footer_of(std::string_view bytes) {
  Footer f;
  thrift::Reader in(bytes);
  const auto read_group = [&](int id, Type t) {
    Group& g = f.groups.back();
    switch (id) {
      case 1: in.items(t, [&](Type of) { g.chunks.push_back(chunk_of(in, of)); }); return true;
      case 3: g.rows = in.integer(t); return true;
      default: return false;
    }
  };
  in.fields(Type::structure, [&](int id, Type t) {
    switch (id) {
      case 2: in.items(t, [&](Type of) { f.nodes.push_back(node_of(in, of)); }); return true;
      case 4:
        in.items(t, [&](Type of) {
          f.groups.emplace_back();
          in.fields(of, read_group);
        });
        return true;
      default: return false;
    }
  });
  std::size_t node = 0;
  add_leaves(f, node, 0, {}, 0);
  return f;
}

std::string Footer::name_of(const Leaf& leaf) const {
  std::string name = nodes[leaf.node].name;
  for (std::size_t n = nodes[leaf.node].above; n > 0; n = nodes[n].above)
    name = nodes[n].name + "." + name;
  return name;
}
std::size_t Footer::name_size(const Leaf& leaf) const {
  std::size_t size = nodes[leaf.node].name.size();
  for (std::size_t n = nodes[leaf.node].above; n > 0; n = nodes[n].above)
    size += nodes[n].name.size() + 1;
  return size;
}

Page page_of(thrift::Reader& in) {
  Page p;
  in.fields(Type::structure, [&](int id, Type t) {
    switch (id) {
      case 1: p.kind = in.integer(t); return true;
      case 2: p.size = in.integer(t); return true;
      case 3: p.packed = in.integer(t); return true;
      case 4: p.crc = static_cast<std::uint32_t>(in.integer(t)); return true;
      case 5: read_page(in, t, Page::data, p); return true;
      case 7: read_page(in, t, Page::dictionary, p); return true;
      case 8: read_page(in, t, Page::data_2, p); return true;
      default: return false;
    }
  });
  return p;
}

}  // namespace pesuite::data::parquet
