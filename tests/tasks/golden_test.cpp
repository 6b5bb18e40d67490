// Hashes of examples: equal bits on every machine and in every version of a task. A change here is
// a new version of the task.
#include <array>

#include "tests/tasks/tasks.h"

namespace pesuite::testing {
namespace {

struct Golden {
  const char* task;
  int length;
  std::array<std::uint64_t, 4> hashes;
};

// One example of each split, and one far down the stream.
std::array<std::uint64_t, 4> hashes(const Task& task, int length) {
  const auto of = [&](pes_split split, std::uint64_t index) {
    return hash(sample(task, length, index, split));
  };
  return {of(PES_SPLIT_TRAIN, 0), of(PES_SPLIT_TRAIN, std::uint64_t{1} << 40),
          of(PES_SPLIT_VALIDATION, 1), of(PES_SPLIT_TEST, 2)};
}

// clang-format off
constexpr Golden golden[] = {
    {"modsum_cls", 64, {0x67c128bdffa00df9, 0xd035f16335bf3a56, 0xae4155e2280019b4, 0xb6c237de8736e6ef}},
    {"modsum_cls", 128, {0x551f61f80ac4851f, 0x11f12183d3a86aec, 0xc02f1bb356d2a241, 0x5389443b3695ac4b}},
    {"modsum_cls", 256, {0x582adbfa209bce99, 0xd5fd1ef721237c30, 0x07f155a5a7754e21, 0xa34ca94e035b2b5d}},
    {"prefix_modsum", 64, {0x6cf3a880f795826f, 0x50e5f3e4363da23d, 0x8bbfecf84fdeca53, 0x27e32aac2cf0ca48}},
    {"prefix_modsum", 128, {0x178e7388eb5d61ca, 0x1e6cb23b681bcc16, 0xe58110d723decac1, 0x350d9d58843f274d}},
    {"prefix_modsum", 256, {0x55bf9ace7f89e69f, 0xdc603620110b5491, 0xa694105945c92bdb, 0x9ccbda4f84ce2ec9}},
    {"prefix_modsum(m=5)", 64, {0x8dcdff64483d8a68, 0xdfb2e57258994e02, 0x163b4a6cceda366c, 0x0aeeef77a484693b}},
    {"prefix_modsum(m=5)", 128, {0x0f94bf82db68e82c, 0x22efbd9fe5c2342b, 0x108ceb5c46682ee0, 0xadee34078840913c}},
    {"prefix_modsum(m=5)", 256, {0x87c6f9013ed11a5b, 0x6d30fb1d35ed4254, 0x099202e225629eb5, 0xe1353cb1ead7d3d9}},
    {"prefix_modsum(m=2)", 64, {0x2c61613120f55921, 0x5df34af953a1a745, 0x149349e25f5aefb0, 0xba5293c95e12d14a}},
    {"prefix_modsum(m=2)", 128, {0x9453e6df176242b3, 0xc80602af11da6f2a, 0x8552807a6f76ff79, 0x22ba7aae83d91b23}},
    {"prefix_modsum(m=2)", 256, {0x0b07d612c84a0f3e, 0x786afea71d44b91d, 0xf408f1d519322680, 0xfb671bf87a00168b}},
    {"prefix_modsum(inclusive=true)", 64, {0xc043456200197ce4, 0xcc819eed7d891037, 0x44c53de3a032bcbd, 0x8c892c72dfb29b57}},
    {"prefix_modsum(inclusive=true)", 128, {0x44eb3a8110941a1f, 0xc6426dafef44166c, 0x1cfb49ef240cfdf3, 0x6a85737808f22c97}},
    {"prefix_modsum(inclusive=true)", 256, {0x5ed64ec6d8b1276c, 0x1f952cd288dba767, 0x1c33bb630b74bc0d, 0x1c7803a42108fc39}},
    {"kback_copy", 64, {0x195dbc079d7f8931, 0x3d05f7ac90f2d7d8, 0x70dc38872419eb9f, 0x30eab044cfe4492f}},
    {"kback_copy", 128, {0xfa5318a137550fa5, 0x66dc79ded7bdaa44, 0x335e882268dd6b3c, 0x5db9c692f4a199e9}},
    {"kback_copy", 256, {0xeff6574e107584fa, 0x89911f6bd39de4f2, 0x7284964a17667912, 0x27ee3ab19f366826}},
    {"kback_copy(k=16)", 64, {0x1460d3e6bd6a6b1e, 0xb6e18e8bd3673cdc, 0xabe071c3cec61799, 0x1a3fa18c03c307d0}},
    {"kback_copy(k=16)", 128, {0xbb7cc914cedc9f98, 0xf56e0195fee61937, 0xe632a1f337da0b8d, 0x49e7a92d11ec7d42}},
    {"kback_copy(k=16)", 256, {0x2fa36594e2d7c279, 0x70f57e2e690a18c9, 0xd7c20a384fdfd932, 0x9c17a36894b22170}},
    {"kback_match", 64, {0x54df84482c80b345, 0x2010a841681bcf27, 0xb868334183b81931, 0xa7c045d24cec42aa}},
    {"kback_match", 128, {0x1e0bdc7300de0a9d, 0xce1355f463948da8, 0xbc19cc3cb7c13e53, 0x677a3b3700185afc}},
    {"kback_match", 256, {0x60a4d3727bebe25f, 0xd214683daab2bb3c, 0xa9469ac4fdf65790, 0xffa88be9c7a41507}},
    {"kback_match(k=16)", 64, {0xdbc7f6db827bfaed, 0xc3b11233590833f4, 0xb96606711455f5db, 0x6fb737370375f67d}},
    {"kback_match(k=16)", 128, {0x1bb58ef9f5066470, 0x2216fae8b1bc9317, 0x2709fd82113fb9bd, 0xcc8e7e984517b97a}},
    {"kback_match(k=16)", 256, {0xf442b1d1daabc7f9, 0xa932907b0ae61f63, 0x7bd174fd9d0f78ab, 0xb5e1f062bcf0c5a9}},
    {"shift_pattern", 64, {0x18b3b864d50f32a6, 0x15e1750874d38b1d, 0xf35603a56d8db543, 0x87ac054f52d1b96b}},
    {"shift_pattern", 128, {0x2ae20896a194edfd, 0x8fbbbf30d6007ac5, 0x5dd9f9e12b18b0ed, 0x26b68d7db114388a}},
    {"shift_pattern", 256, {0xd072ea3e8047013f, 0xd7206d91f2aceaea, 0xfa8db1a6c2d49c82, 0xbb6744ff5164612a}},
    {"shift_pattern(variant=app)", 64, {0x5ba8a6a9ae4e65c3, 0xd3cb3464d57ffe7a, 0x75563775f5f8ed02, 0x8180b94c19d2b78b}},
    {"shift_pattern(variant=app)", 128, {0x0aec432db93df43f, 0x31cdfd9f453b831b, 0x9c5a9dc63c8d3319, 0x375691a4c82661f7}},
    {"shift_pattern(variant=app)", 256, {0x2001e0439a97df5f, 0xb957edd224bd0760, 0x9b27eedfc832c2c9, 0x9d5526d0fd99790e}},
    {"shift_pattern(variant=text)", 64, {0x5d19aad2f6aff19b, 0x0d8a14d51db6c0f0, 0x7ef9fd65b01d2480, 0x0b5493ebfd52ff2c}},
    {"shift_pattern(variant=text)", 128, {0xd37e1b8f20ce7c74, 0xdab2a568cdd33184, 0xc04a191e2be63ad8, 0x9a37415e0aaa8272}},
    {"shift_pattern(variant=text)", 256, {0xb10225aa9b6cce9e, 0x3b3f61ee30ace00d, 0xc63bf77d4cbcf01d, 0xb3c13c6c34f5fa78}},
    {"first_last", 64, {0xd60937ede358e630, 0x2d3d15bd4c176b03, 0xc0e5fa063f6e5da2, 0x47e1a95a7811e589}},
    {"first_last", 128, {0x2d35a8ec1e6905e1, 0x98ed6309d2b704ce, 0x4fe174e527ce8fbf, 0xdb418b47e2c350b3}},
    {"first_last", 256, {0xb976fa2e1cd157ec, 0xcaf193e497ff8cae, 0x1f83fc7bf5474c20, 0xed0d33be6934e8d5}},
    {"first_last(variant=app)", 64, {0x554c10efab55f2c4, 0x6a81449b1f167ca4, 0x7deea7e539ce6cb4, 0xc9167a607bc17f1a}},
    {"first_last(variant=app)", 128, {0x3d2f8c692d97cc21, 0xf902dba9db12e690, 0x69cc9767de40f508, 0x880b4c0d9f8ee306}},
    {"first_last(variant=app)", 256, {0xe213526152b2d4c4, 0x05aabdb3d1fcf3b9, 0xc072bc8cbd8863bd, 0x3ca264286e789f83}},
    {"pair_match", 64, {0x60032909422d86ce, 0x5d4bb5d4ffc2c5ee, 0xeaa3a3bcc6212f88, 0xa7efb2a942f9460e}},
    {"pair_match", 128, {0xa6ef8cc23864182c, 0x003a1f5f401836c2, 0x21ee67c81f3e33cb, 0x57e427d50a19577b}},
    {"pair_match", 256, {0x65f6eb9e5f2442d4, 0x05c3a71942178ecf, 0x9517240ab09e930b, 0x3eb75c756ae0f789}},
    {"pair_match(variant=bucket)", 64, {0xb0342d16be5b1e53, 0x4722d5fa0f469b68, 0x34397eb2462091fd, 0x8baaec973683c5f5}},
    {"pair_match(variant=bucket)", 128, {0x323664f43c0df460, 0x4b9a02b08279419c, 0x754d92ade2660b81, 0x2623de3fcb28c792}},
    {"pair_match(variant=bucket)", 256, {0xeba098e6c9fbc805, 0xd36c0808188da7dc, 0x7f50558336d7286c, 0xea60a16936383f3f}},
    {"pair_match(variant=text)", 64, {0x05803c87cf4f2332, 0x3c433002cae5764b, 0xcdd9736d84475387, 0x6e30aa03d5a79162}},
    {"pair_match(variant=text)", 128, {0xb8bd71a876a1aad3, 0xac4d5bb10587d8b3, 0x638980631548984b, 0xb81f00331c6b5580}},
    {"pair_match(variant=text)", 256, {0x2935033e2f0bf442, 0x0f1917989cc8c776, 0x16a122d6375968fc, 0xa5cc44f4b875d1c4}},
    {"ledger", 64, {0x565f4edc4632fac3, 0x25670df360e34437, 0x444cfcb9caaf239b, 0x4f6e6676aaea4d29}},
    {"ledger", 128, {0xee5823226286c96d, 0x3fbf3d11216bafc6, 0xa90af216bb72ee05, 0x83428ba473bcab59}},
    {"ledger", 256, {0xe6e1f562743d5682, 0xb01db0e087ec9c82, 0x604471e9b1cb81d9, 0x94a697dd7ccb058c}},
    {"ledger(mix=retrieval)", 64, {0xc4be7a9706f7554b, 0xf71ee6d7bce7daab, 0x0df50131a0c1d535, 0xb42b155628743f7e}},
    {"ledger(mix=retrieval)", 128, {0x9f9478f78fbbd936, 0xa117bc14dc27c8bc, 0x9cb52e5136907d1f, 0x2dabdd5bdbc33424}},
    {"ledger(mix=retrieval)", 256, {0x5a8d4f8be04edc08, 0xd7af45f72cdde812, 0xcebc4fffce9a1c26, 0x461418509d7afaa1}},
    {"toylag", 64, {0x1eb7c9020681677c, 0x81ab7b220570d05a, 0x0999c3485d1ec06a, 0xb065f9bdc90a144d}},
    {"toylag", 128, {0xbd3bd99f029bcdc9, 0xaa689bfc8624341a, 0xbf985c04efa76621, 0xdaaa414aa8ad19f9}},
    {"toylag", 256, {0x004e790529372f83, 0x07e0e19b1416078f, 0xe152b10df9d3876b, 0xfc66eac0519d1570}},
};
// clang-format on

TEST(GoldenHashes, OfExamplesAreUnchanged) {
  std::string table;
  for (const Golden& g : golden) {
    const auto found = hashes(make_task(g.task), g.length);
    EXPECT_EQ(found, g.hashes) << g.task << ", length " << g.length;
    table += fmt::format("    {{\"{}\", {}, {{{:#018x}, {:#018x}, {:#018x}, {:#018x}}}}},\n",
                         g.task, g.length, found[0], found[1], found[2], found[3]);
  }
  if (HasFailure()) fmt::print("The table as it is now:\n{}", table);
}

}  // namespace
}  // namespace pesuite::testing
