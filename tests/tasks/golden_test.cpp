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
    {"parity", 64, {0xf780c499e906af71, 0xb77e7f66eee6492d, 0x11061681127808e7, 0x545124d631397507}},
    {"parity", 128, {0x4539ea78a4e85609, 0x246671c53d0f9d51, 0x88c58e435a7f2773, 0x6fee05dbba9c56ba}},
    {"parity", 256, {0x1bbd27eb9fa5dd4f, 0xa36c195ab9c6bde1, 0x148b3016476a01fe, 0xae7a81278bb3892b}},
    {"even_pairs", 64, {0x308bacce395056fe, 0xe8d9572f85710df5, 0xa06f091ac98d9b4b, 0x600a63fcc79acfef}},
    {"even_pairs", 128, {0xe48838841ccd4ffa, 0xc3cd062b51868479, 0xfc5d203568c9b6da, 0xd58734e49fe6c4bc}},
    {"even_pairs", 256, {0x80a30da1bd4e51e9, 0x96b2babb48bbb1a4, 0xff250fa5fd46826e, 0x4160f19200b20a4c}},
    {"cycle_nav", 64, {0xa26b1344291eb936, 0x7728c0872055f35c, 0x5856c25673adc6a2, 0x5318a071425b22fb}},
    {"cycle_nav", 128, {0x10f80199af93a445, 0x7d8c50edc4f5f9ac, 0xd3ac398f6d826ebb, 0xa8719b83f82fbbb4}},
    {"cycle_nav", 256, {0xe67e42f5559d2e88, 0x21ee0de351e0d50b, 0xfec1f9c76d80f10e, 0x5178c53ae36d64ec}},
    {"mod_arith_simple", 64, {0xfa49cf2888eaaaf6, 0x65cdc1536771ec77, 0xbf57fd5aabb4cf51, 0xf37ae6fd0a013738}},
    {"mod_arith_simple", 128, {0x8caf9bf6ff53697e, 0x70d2fa2e7993008a, 0x70df2e8190dd0792, 0xb40b80a87a265a87}},
    {"mod_arith_simple", 256, {0xb3b51f3e8fe9fb5c, 0x2a0062418ea68cc5, 0x73abf3e93ac549e7, 0x341d0049a8c5280d}},
    {"stack", 64, {0xf237864a9cbc07b8, 0x4a5b23ea786219f2, 0xf83933000aca5d25, 0x3d898a15f9bf0845}},
    {"stack", 128, {0x1096e5ee28d1994e, 0x656b63e3cc453838, 0xcc0fd6451ab9fc25, 0x181a30ebe2c24d4c}},
    {"stack", 256, {0xbbd1a543fc566437, 0x1c6849367de44dd0, 0x584cd1530d6bcbfb, 0xe74a5dc3a402249a}},
    {"stack(mode=lm)", 64, {0x4aa2f6d203d3581d, 0x47d05d058f2409d9, 0x4ef50862ec9aab88, 0x95ac41f667e5bc6c}},
    {"stack(mode=lm)", 128, {0x4d826dcdde14cde3, 0xc9824b51b5ee8b6c, 0x8e56a2863d3cf414, 0xac5986d80d0456c1}},
    {"stack(mode=lm)", 256, {0x2dcafa3d8f460a83, 0x17217780b1a0df0c, 0x025b7b8e786067d3, 0x6b74cdc65cb9defa}},
    {"mod_arith", 64, {0xf33c17a4389b55ea, 0xc81acb772147c6db, 0xa8ea8e5ef154631a, 0xb1c083aafa2e44ac}},
    {"mod_arith", 128, {0xaa5910d1bd8623f1, 0xc9fdbcf8899dc25e, 0x1f96e77f34334588, 0x24554bf6a7bcdfb1}},
    {"mod_arith", 256, {0x1d0af96d31a414d5, 0xdb8edc41c4ba5829, 0xd0c8724e314989d4, 0x512eb6a505ed10b4}},
    {"solve_equation", 64, {0x52ff0813fb1a122b, 0x63a607ec4219fbe5, 0x0222c9b2f1fd7bdd, 0x84b69c8d1d995489}},
    {"solve_equation", 128, {0xaf7f411497d48927, 0x2412592cda18d0bf, 0x99afe23e6e34d1cb, 0x02dc079b207183bb}},
    {"solve_equation", 256, {0xee79388052aedd8f, 0xaba6fbf615f01f1a, 0x958932ecc6463c7c, 0xa6021e87ee796358}},
    {"missing_duplicate", 64, {0xa29e194bdd68192e, 0x3ab65cde7dfad0e4, 0x4bda5a008011f124, 0x58224889aff23a0a}},
    {"missing_duplicate", 128, {0x4711c5727bf5861c, 0xf6e4c910ad32a997, 0xeb1cb3dd72138e11, 0x65d8d492519164c4}},
    {"missing_duplicate", 256, {0xebef596118a9d38b, 0xd3ec6a8e983887db, 0x3a7d892d7dc291e6, 0x9f570ff737daef8f}},
    {"odds_first", 64, {0xe044a18fb4b3efb0, 0xc289e0946ce352c9, 0xdc4cb57777008a9d, 0xfa988ea4cab8801f}},
    {"odds_first", 128, {0xbdfc69b9357fd2ce, 0xe00f281e48b7b276, 0xcbcde0482fbf2728, 0xa7254fd147350307}},
    {"odds_first", 256, {0x52e3d6770865b2df, 0x7730deb5ff36b8f2, 0x3452924e982913ee, 0x9b1dd000b31422fd}},
    {"binary_addition", 64, {0xeed45a468f53f49d, 0xec649638487288a1, 0x79c78b496701ffc4, 0xb5e45c362ebe4837}},
    {"binary_addition", 128, {0x520823602b946692, 0x37cedb1fc544471a, 0xbcf4b1b284b29896, 0x3be196a8adaa61de}},
    {"binary_addition", 256, {0x69e05a7da4268ef9, 0x4426a4c5553604c0, 0xc473a88c9e01c13d, 0xa796a7908c23e5bd}},
    {"binary_addition(mode=lm)", 64, {0xb8ee629765075ce4, 0x4e272f1dcb839ea6, 0xdf193fe4259d5803, 0xc0acaa64cda706f0}},
    {"binary_addition(mode=lm)", 128, {0x358fc5252b057d64, 0xc10595119b52e27a, 0x74d29b0078af7bae, 0xcef26bc22e88c8fa}},
    {"binary_addition(mode=lm)", 256, {0xfc3ddaf0d9c7563d, 0x2e17b862bd9d7d73, 0x9ae4a1d87944c7a2, 0xd058c58cad7eb91c}},
    {"binary_multiplication", 64, {0xb865b95312089e8f, 0x8586c1978725ad29, 0xc0f5d679884083b7, 0x41a5e5c2fd4a4f57}},
    {"binary_multiplication", 128, {0xd94439b47e69e25a, 0xa104ceff7fc4aaee, 0x7dc7bf54e0db9a91, 0xf5754c72fd8b3cd4}},
    {"binary_multiplication", 256, {0xbacb3ea6cbe7d25d, 0x54a9e81c86a355cc, 0xe4b09d97adfb0ab0, 0x52999a1858f678fd}},
    {"sqrt", 64, {0xd28405b9b5ce0d59, 0x8e31c289b06883f0, 0xc4e3b53496283854, 0xf8103d800ac648e1}},
    {"sqrt", 128, {0x0546abcf638a58d7, 0xdc40a4f3fd4e08e2, 0xba95678053e78b06, 0x178b11e6b4b08d9e}},
    {"sqrt", 256, {0x34b46cea2a5f4c06, 0x48cfb9e7566fa0d5, 0x2644c266a6c0dc8e, 0xcc4d59dc5354ac0b}},
    {"addition", 64, {0xb9fadded62272f3e, 0xcff237cb5bf721a9, 0xcb2d84ca47915996, 0x9335deaad3cb2afe}},
    {"addition", 128, {0xa472027ef5c51aad, 0xd9bf9d391b98e884, 0x9b21d1422e85f231, 0x2b9dc3952d78c021}},
    {"addition", 256, {0x86eb0f79f2a206b5, 0x18a279aee6d27e38, 0xdef0803bd23b13d7, 0xe94478307f8c7563}},
    {"addition(pad=false, reversed=false)", 64, {0x16a422aa2ecd50ee, 0x4c0ac36bcff132b8, 0xb80133bc90d3f501, 0xd9a64a905826188a}},
    {"addition(pad=false, reversed=false)", 128, {0xe3ba789fa12ff05c, 0x8c9f2faa4ed63dbb, 0x72cf81e2a5509975, 0x29aec8228d81f4c7}},
    {"addition(pad=false, reversed=false)", 256, {0x5c706b1a584812d0, 0x5da846f136e7ad31, 0x27f92e630e5efb76, 0x9277644e57b58852}},
    {"addition(index_hints=true)", 64, {0x051b0de2f4a5b68c, 0x538e49788e6d4b55, 0xeef5f02d8f8ca0dc, 0x58943a40a6e3fba1}},
    {"addition(index_hints=true)", 128, {0x2697f9dc34d8d4a4, 0x0711910f8c10f761, 0x717451db0b22314f, 0x8a8c15649078e52c}},
    {"addition(index_hints=true)", 256, {0xd228a2188f08ea0f, 0x7410e82437d17651, 0x83d2e4d7edcd3386, 0x709a0069fc689633}},
    {"counting", 64, {0x99fd6fa4a8706c5c, 0xba0680af7087bd87, 0x1d49fbcce3a37152, 0x78fba5048e888a8c}},
    {"counting", 128, {0x2bccd12e2ad6e04d, 0x247c03601302b0ab, 0xdfff6bad3213a270, 0x2d7ab26d9319327e}},
    {"counting", 256, {0x5fb3f4c09cfb2386, 0x251b6d91a1c57cd7, 0x3f796aac87a75172, 0xdbb39a0cbafb0ed6}},
    {"counting(preset=paper, variables=5)", 64, {0x9d9dde113d891c77, 0xd8a720e880a9fc01, 0x24d658e3c7a10921, 0x258832e6647316f2}},
    {"counting(preset=paper, variables=5)", 128, {0xacd89654204eff7f, 0xf11054fcb2cc4aa0, 0x34465c30befe528c, 0x21c6a49ffaefcba2}},
    {"counting(preset=paper, variables=5)", 256, {0x89593efb205c13cf, 0xce97cd17898417b8, 0x630a47860208eefe, 0x666945bb058e8334}},
    {"flipflop", 64, {0x5c76a792111a4ec5, 0x7891e6184c8b610f, 0xec4441a1bf9a634b, 0x51500f97f7486cc3}},
    {"flipflop", 128, {0x488079daa5271646, 0x62ef52d02fe1be6b, 0x9d8af209a3944369, 0x5a1baf5aba97fa47}},
    {"flipflop", 256, {0xe6fff0f588dad538, 0x85fded529c9c3f6f, 0xa15dc58648c30f38, 0xa8ef8bd92819b94c}},
    {"posgen", 64, {0x439d9d8c4f81da95, 0x49a6f13069cc092b, 0xb90bf7b2191e8d06, 0xd4033001edea6a6d}},
    {"posgen", 128, {0x17ba4c32b8432fbb, 0x11f208e9ee4dcf35, 0xa11bd6d171ecc3a1, 0x81b1da5622eb682f}},
    {"posgen", 256, {0xe8661085cb45b166, 0xf436f1f7dba99bb5, 0x26ea184fe31817ef, 0x3a7c78f0238e314d}},
    {"posgen(variant=cot)", 64, {0xb61c96d5bd7552e0, 0x5cacda6cede26413, 0x66e8f91a382756a4, 0x00476491e2092605}},
    {"posgen(variant=cot)", 128, {0x323b9677b25e94f1, 0x217e85d17ad77c0d, 0x94a3bf0ab6c1c7e5, 0x765e9a0525843f3e}},
    {"posgen(variant=cot)", 256, {0x91c8136d07432322, 0x72cbb62cb215146a, 0x3caf71fee38ba84d, 0x866d9239c42ef877}},
    {"posgen(variant=semi)", 64, {0x93c008027264891f, 0x8f65e11ac1d07369, 0xa0ecab25bb7dc7d7, 0xdecbb3b645fa7248}},
    {"posgen(variant=semi)", 128, {0x70d17ffd9a9cf24e, 0x6248a7954b62cc1d, 0xb26b34bc47ab0d89, 0xcdbdef0c61ce9001}},
    {"posgen(variant=semi)", 256, {0x88bdadab7a1af600, 0x98e86b2f2d9901b3, 0xc7944dddf1c12e48, 0x19cfdc8df2cdc601}},
    {"brackets", 64, {0x17d1e1af00f64b68, 0x988068ee0a2e5dce, 0x8505647c700bd75a, 0xf072a91b92a0a04a}},
    {"brackets", 128, {0x6c1e051ae0638d38, 0xd61a43a2609de07d, 0x0d12c55a2f2ac7b2, 0xb7b8d850dfcdf7b8}},
    {"brackets", 256, {0xfebeacf834494ba3, 0xd0442b2ee543cc91, 0x1fddcd0cd7ba4110, 0x4e1250f78da83422}},
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
