// config.json with the fields that published models have, those that say nothing about the
// computation included. GPT-J's, BLOOM's, SmolLM2's and Phi-3's were compared with copies in public
// code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "hf/config.h"

namespace pesuite::hf {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char *name, *encoding, *config;
};
constexpr Case published[] = {
    {"EleutherAI/gpt-j-6b", "rope(base=10000, features=64, layout=interleaved)", R"({
      "activation_function": "gelu_new", "architectures": ["GPTJForCausalLM"], "attn_pdrop": 0.0,
      "bos_token_id": 50256, "embd_pdrop": 0.0, "eos_token_id": 50256,
      "gradient_checkpointing": false, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
      "model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_inner": null, "n_layer": 28,
      "n_positions": 2048, "resid_pdrop": 0.0, "rotary": true, "rotary_dim": 64,
      "scale_attn_weights": true, "summary_activation": null, "summary_first_dropout": 0.1,
      "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
      "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
      "tie_word_embeddings": false, "tokenizer_class": "GPT2Tokenizer",
      "transformers_version": "4.18.0.dev0", "use_cache": true, "vocab_size": 50400})"},
    {"bigscience/bloom", "alibi", R"({
      "apply_residual_connection_post_layernorm": false, "architectures": ["BloomModel"],
      "attention_dropout": 0.0, "attention_softmax_in_fp32": true, "bias_dropout_fusion": true,
      "bos_token_id": 1, "eos_token_id": 2, "hidden_dropout": 0.0, "hidden_size": 14336,
      "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "masked_softmax_fusion": true,
      "model_type": "bloom", "n_head": 112, "n_inner": null, "n_layer": 70, "offset_alibi": 100,
      "pad_token_id": 3, "pretraining_tp": 1, "skip_bias_add": true, "skip_bias_add_qkv": false,
      "slow_but_exact": false, "transformers_version": "4.22.2", "unk_token_id": 0,
      "use_cache": true, "vocab_size": 250880})"},
    {"HuggingFaceTB/SmolLM2-135M", "rope(base=100000)", R"({
      "_name_or_path": "x", "architectures": ["LlamaForCausalLM"], "attention_bias": false,
      "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 0, "head_dim": 64,
      "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
      "intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 2048,
      "mlp_bias": false, "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30,
      "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
      "rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000,
      "tie_word_embeddings": true, "torch_dtype": "bfloat16",
      "transformers.js_config": {"kv_cache_dtype": {"fp16": "float16"}},
      "transformers_version": "4.48.0", "use_cache": true, "vocab_size": 49152})"},
    {"Qwen/Qwen2.5-0.5B, saved again", "rope(base=1000000)", R"({
      "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
      "dtype": "bfloat16", "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 896,
      "initializer_range": 0.02, "intermediate_size": 4864,
      "layer_types": ["full_attention", "full_attention"], "max_position_embeddings": 32768,
      "max_window_layers": 24, "model_type": "qwen2", "num_attention_heads": 14,
      "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
      "rope_scaling": null, "rope_theta": 1000000.0, "sliding_window": null,
      "tie_word_embeddings": true, "use_cache": true, "use_mrope": false,
      "use_sliding_window": false, "vocab_size": 151936})"},
    {"Qwen/Qwen2.5-7B-Instruct-1M, of two layers",
     "dual_chunk(base=10000000, chunk=262144, window=8192, original=262144, mscale=0.1)", R"({
      "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
      "dual_chunk_attention_config": {"chunk_size": 262144, "local_size": 8192,
        "original_max_position_embeddings": 262144},
      "eos_token_id": 151645, "hidden_act": "silu", "hidden_size": 3584,
      "initializer_range": 0.02, "intermediate_size": 18944, "max_position_embeddings": 1010000,
      "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 28,
      "num_hidden_layers": 2, "num_key_value_heads": 4, "rms_norm_eps": 1e-05,
      "rope_theta": 10000000.0, "sliding_window": 32768, "tie_word_embeddings": false,
      "torch_dtype": "bfloat16", "transformers_version": "4.47.1", "use_cache": true,
      "use_sliding_window": false, "vocab_size": 152064})"},
    {"Qwen/Qwen3-0.6B", "rope(base=1000000)", R"({
      "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu",
      "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
      "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
      "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
      "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
      "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.51.0",
      "use_cache": true, "use_sliding_window": false, "vocab_size": 151936})"},
    {"HuggingFaceTB/SmolLM3-3B, of 8 layers",
     "layers[rope(base=5000000), rope(base=5000000), rope(base=5000000), none]", R"({
      "architectures": ["SmolLM3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "bos_token_id": null, "eos_token_id": 128012, "hidden_act": "silu", "hidden_size": 2048,
      "initializer_range": 0.02, "intermediate_size": 11008, "layer_types": ["full_attention"],
      "max_position_embeddings": 65536, "max_window_layers": 28, "mlp_bias": false,
      "model_type": "smollm3", "no_rope_layer_interval": 4,
      "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0], "num_attention_heads": 16,
      "num_hidden_layers": 8, "num_key_value_heads": 4, "pad_token_id": 128004,
      "pretraining_tp": 2, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 5000000.0,
      "sliding_window": null, "torch_dtype": "bfloat16", "transformers_version": "4.54.0.dev0",
      "use_cache": false, "use_sliding_window": false, "vocab_size": 128256})"},
    {"allenai/OLMo-2-0425-1B", "rope(base=500000)", R"({
      "architectures": ["Olmo2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "eos_token_id": 100257, "hidden_act": "silu", "hidden_size": 2048,
      "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 4096,
      "model_type": "olmo2", "num_attention_heads": 16, "num_hidden_layers": 16,
      "num_key_value_heads": 16, "pad_token_id": 100277, "rms_norm_eps": 1e-06,
      "rope_scaling": null, "rope_theta": 500000, "tie_word_embeddings": false,
      "torch_dtype": "float32", "transformers_version": "4.47.1", "use_cache": true,
      "vocab_size": 100352})"},
    {"allenai/Olmo-3-1025-7B, of 4 layers",
     "layers[rope(base=500000), rope(base=500000), rope(base=500000), yarn(base=500000, factor=8, "
     "original=8192, beta_fast=32, beta_slow=1, attention_factor=1.2079441541679836)]",
     R"({
      "architectures": ["Olmo3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "bos_token_id": 100257, "eos_token_id": 100257, "hidden_act": "silu", "hidden_size": 4096,
      "initializer_range": 0.02, "intermediate_size": 11008,
      "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
                      "full_attention"],
      "max_position_embeddings": 65536, "model_type": "olmo3", "num_attention_heads": 32,
      "num_hidden_layers": 4, "num_key_value_heads": 32, "pad_token_id": 100277,
      "rms_norm_eps": 1e-06,
      "rope_scaling": {"attention_factor": 1.2079441541679836, "beta_fast": 32.0,
                       "beta_slow": 1.0, "factor": 8.0,
                       "original_max_position_embeddings": 8192, "rope_type": "yarn"},
      "rope_theta": 500000, "sliding_window": 4096, "tie_word_embeddings": false,
      "torch_dtype": "bfloat16", "transformers_version": "4.57.0", "use_cache": true,
      "vocab_size": 100278})"},
    {"google/gemma-2b", "rope(base=10000)", R"({
      "architectures": ["GemmaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "bos_token_id": 2, "eos_token_id": 1, "head_dim": 256, "hidden_act": "gelu",
      "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2048, "initializer_range": 0.02,
      "intermediate_size": 16384, "max_position_embeddings": 8192, "model_type": "gemma",
      "num_attention_heads": 8, "num_hidden_layers": 18, "num_key_value_heads": 1,
      "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 10000.0,
      "torch_dtype": "bfloat16", "transformers_version": "4.38.0.dev0", "use_cache": true,
      "vocab_size": 256000})"},
    {"google/gemma-2-2b", "rope(base=10000)", R"({
      "architectures": ["Gemma2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "attn_logit_softcapping": 50.0, "bos_token_id": 2, "cache_implementation": "hybrid",
      "eos_token_id": 1, "final_logit_softcapping": 30.0, "head_dim": 256,
      "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
      "hidden_size": 2304, "initializer_range": 0.02, "intermediate_size": 9216,
      "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 8,
      "num_hidden_layers": 26, "num_key_value_heads": 4, "pad_token_id": 0,
      "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_theta": 10000.0,
      "sliding_window": 4096, "torch_dtype": "float32", "transformers_version": "4.42.4",
      "use_cache": true, "vocab_size": 256000})"},
    {"google/gemma-3-1b-it",
     "layers[rope(base=10000), rope(base=10000), rope(base=10000), rope(base=10000), "
     "rope(base=10000), rope(base=1000000)]",
     R"({
      "architectures": ["Gemma3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "attn_logit_softcapping": null, "bos_token_id": 2, "cache_implementation": "hybrid",
      "eos_token_id": [1, 106], "final_logit_softcapping": null, "head_dim": 256,
      "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152, "initializer_range": 0.02,
      "intermediate_size": 6912, "max_position_embeddings": 32768, "model_type": "gemma3_text",
      "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1,
      "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06,
      "rope_local_base_freq": 10000, "rope_scaling": null, "rope_theta": 1000000,
      "sliding_window": 512, "sliding_window_pattern": 6, "torch_dtype": "bfloat16",
      "transformers_version": "4.50.0.dev0", "use_cache": true, "vocab_size": 262144})"},
    {"microsoft/Phi-3-mini-4k-instruct", "rope(base=10000)", R"({
      "_name_or_path": "Phi-3-mini-4k-instruct", "architectures": ["Phi3ForCausalLM"],
      "attention_bias": false, "attention_dropout": 0.0,
      "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"}, "bos_token_id": 1,
      "embd_pdrop": 0.0, "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 3072,
      "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 4096,
      "model_type": "phi3", "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 32, "original_max_position_embeddings": 4096, "pad_token_id": 32000,
      "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0,
      "sliding_window": 2047, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
      "transformers_version": "4.40.2", "use_cache": true, "vocab_size": 32064})"},
    {"a Phi-4-mini, with heads of 8",
     "longrope(base=10000, features=6, original=4096, factor=32, long_factor=[2, 4, 8], "
     "short_factor=[1, 1, 1.5])",
     R"({
      "architectures": ["Phi3ForCausalLM"], "full_attn_mod": 1, "hidden_act": "silu",
      "hidden_size": 192, "interpolate_factor": 1, "intermediate_size": 512,
      "lm_head_bias": false, "max_position_embeddings": 131072, "mlp_bias": false,
      "model_type": "phi3", "num_attention_heads": 24, "num_hidden_layers": 2,
      "num_key_value_heads": 8, "original_max_position_embeddings": 4096,
      "partial_rotary_factor": 0.75, "rms_norm_eps": 1e-05,
      "rope_scaling": {"long_factor": [2, 4, 8], "short_factor": [1, 1, 1.5], "type": "longrope"},
      "rope_theta": 10000.0, "sliding_window": 262144, "tie_word_embeddings": true,
      "vocab_size": 200064})"},
    {"microsoft/phi-2", "rope(base=10000, features=32)", R"({
      "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 50256,
      "embd_pdrop": 0.0, "eos_token_id": 50256, "hidden_act": "gelu_new", "hidden_size": 2560,
      "initializer_range": 0.02, "intermediate_size": 10240, "layer_norm_eps": 1e-05,
      "max_position_embeddings": 2048, "model_type": "phi", "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.4,
      "qk_layernorm": false, "resid_pdrop": 0.1, "rope_scaling": null, "rope_theta": 10000.0,
      "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.37.0",
      "use_cache": true, "vocab_size": 51200})"},
    {"stabilityai/stablelm-2-1_6b", "rope(base=10000, features=16)", R"({
      "architectures": ["StableLmForCausalLM"], "bos_token_id": 100257, "eos_token_id": 100257,
      "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
      "intermediate_size": 5632, "layer_norm_eps": 1e-05, "max_position_embeddings": 4096,
      "model_type": "stablelm", "num_attention_heads": 32, "num_hidden_layers": 24,
      "num_key_value_heads": 32, "partial_rotary_factor": 0.25, "rope_theta": 10000,
      "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.38.0",
      "use_cache": true, "use_qkv_bias": true, "vocab_size": 100352})"},
    {"bigcode/starcoder2-3b", "rope(base=999999.4420358813)", R"({
      "architectures": ["Starcoder2ForCausalLM"], "attention_dropout": 0.1,
      "attention_softmax_in_fp32": true, "bos_token_id": 0, "embedding_dropout": 0.1,
      "eos_token_id": 0, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 3072,
      "initializer_range": 0.018042, "intermediate_size": 12288, "layer_norm_epsilon": 1e-05,
      "max_position_embeddings": 16384, "mlp_type": "default", "model_type": "starcoder2",
      "norm_epsilon": 1e-05, "norm_type": "layer_norm", "num_attention_heads": 24,
      "num_hidden_layers": 30, "num_key_value_heads": 2, "residual_dropout": 0.1,
      "rope_theta": 999999.4420358813, "scale_attention_softmax_in_fp32": true,
      "scale_attn_weights": true, "sliding_window": 4096, "torch_dtype": "bfloat16",
      "transformers_version": "4.37.0.dev0", "use_bias": true, "use_cache": true,
      "vocab_size": 49152})"},
    {"EleutherAI/gpt-neox-20b", "rope(base=10000, features=24)", R"({
      "architectures": ["GPTNeoXForCausalLM"], "attention_probs_dropout_prob": 0,
      "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu_fast", "hidden_dropout_prob": 0,
      "hidden_size": 6144, "initializer_range": 0.02, "intermediate_size": 24576,
      "layer_norm_eps": 1e-05, "max_position_embeddings": 2048, "model_type": "gpt_neox",
      "num_attention_heads": 64, "num_hidden_layers": 44, "rotary_emb_base": 10000,
      "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16",
      "use_cache": true, "vocab_size": 50432})"},
    {"mosaicml/mpt-7b", "alibi", R"({
      "architectures": ["MPTForCausalLM"],
      "attn_config": {"alibi": true, "alibi_bias_max": 8, "attn_impl": "torch", "attn_pdrop": 0,
        "attn_type": "multihead_attention", "attn_uses_sequence_id": false, "clip_qkv": null,
        "prefix_lm": false, "qk_ln": false, "softmax_scale": null},
      "auto_map": {"AutoConfig": "configuration_mpt.MPTConfig"}, "d_model": 4096, "emb_pdrop": 0,
      "embedding_fraction": 1.0, "expansion_ratio": 4,
      "init_config": {"emb_init_std": null, "fan_mode": "fan_in", "name": "kaiming_normal_"},
      "init_device": "cpu", "learned_pos_emb": true, "logit_scale": null, "max_seq_len": 2048,
      "model_type": "mpt", "n_heads": 32, "n_layers": 32, "no_bias": true,
      "norm_type": "low_precision_layernorm", "resid_pdrop": 0,
      "tokenizer_name": "EleutherAI/gpt-neox-20b", "torch_dtype": "bfloat16", "use_cache": false,
      "verbose": 0, "vocab_size": 50432})"},
    {"google/gemma-3-27b-it",
     "layers[rope(base=10000), rope(base=10000), rope(base=10000), rope(base=10000), "
     "rope(base=10000), linear(base=1000000, factor=8)]",
     R"({
      "architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999,
      "eoi_token_index": 256000, "eos_token_id": [1, 106], "image_token_index": 262144,
      "initializer_range": 0.02, "mm_tokens_per_image": 256, "model_type": "gemma3",
      "text_config": {"head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504,
        "model_type": "gemma3_text", "num_attention_heads": 32, "num_hidden_layers": 62,
        "num_key_value_heads": 16, "query_pre_attn_scalar": 168,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024},
      "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0",
      "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304,
        "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27,
        "patch_size": 14, "vision_use_head": false}})"},
    {"CohereForAI/c4ai-command-r7b-12-2024",
     "layers[rope(base=50000, layout=interleaved), rope(base=50000, layout=interleaved), "
     "rope(base=50000, layout=interleaved), none]",
     R"({
      "architectures": ["Cohere2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "bos_token_id": 5, "cache_implementation": "hybrid", "eos_token_id": 255001,
      "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
      "intermediate_size": 14336, "layer_norm_eps": 1e-05, "layer_switch": 4,
      "logit_scale": 0.25, "max_position_embeddings": 8192, "model_type": "cohere2",
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
      "order_of_interleaved_layers": "local_attn_first", "pad_token_id": 0,
      "position_embedding_type": "rope_gptj", "rope_scaling": null, "rope_theta": 50000,
      "rotary_pct": 1.0, "sliding_window": 4096, "sliding_window_pattern": 4,
      "torch_dtype": "bfloat16", "transformers_version": "4.48.0.dev0", "use_cache": true,
      "use_embedding_sharing": true, "use_gated_activation": true, "use_parallel_block": true,
      "use_parallel_embedding": true, "vocab_size": 256000})"},
    {"LGAI-EXAONE/EXAONE-4.0-32B, of eight layers",
     "layers[llama3(base=1000000, factor=16, original=8192, low_freq_factor=1, "
     "high_freq_factor=4), llama3(base=1000000, factor=16, original=8192, low_freq_factor=1, "
     "high_freq_factor=4), llama3(base=1000000, factor=16, original=8192, low_freq_factor=1, "
     "high_freq_factor=4), none]",
     R"({
      "architectures": ["Exaone4ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
      "eos_token_id": 361, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
      "initializer_range": 0.02, "intermediate_size": 27392, "layer_types": ["sliding_attention",
      "sliding_attention", "sliding_attention", "full_attention", "sliding_attention",
      "sliding_attention", "sliding_attention", "full_attention"],
      "max_position_embeddings": 131072, "model_type": "exaone4", "num_attention_heads": 40,
      "num_hidden_layers": 8, "num_key_value_heads": 8, "pad_token_id": 0, "rms_norm_eps": 1e-05,
      "rope_scaling": {"factor": 16.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192, "rope_type": "llama3"},
      "rope_theta": 1000000, "sliding_window": 4096, "sliding_window_pattern": "LLLG",
      "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true,
      "vocab_size": 102400})"},
    {"ibm-granite/granite-3.1-2b-base", "rope(base=5000000)", R"({
      "architectures": ["GraniteForCausalLM"], "attention_bias": false, "attention_dropout": 0.1,
      "attention_multiplier": 0.015625, "bos_token_id": 0, "embedding_multiplier": 12.0,
      "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
      "intermediate_size": 8192, "logits_scaling": 8.0, "max_position_embeddings": 131072,
      "mlp_bias": false, "model_type": "granite", "num_attention_heads": 32,
      "num_hidden_layers": 40, "num_key_value_heads": 8, "pad_token_id": 0,
      "residual_multiplier": 0.22, "rms_norm_eps": 1e-05, "rope_scaling": null,
      "rope_theta": 5000000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
      "transformers_version": "4.47.0.dev0", "use_cache": true, "vocab_size": 49152})"},
    {"gpt2-xl, as an older version saved it", "learned(rows=1024)", R"({
      "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
      "bos_token_id": 50256, "do_sample": false, "embd_pdrop": 0.1, "eos_token_id": 50256,
      "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "length_penalty": 1.0,
      "max_length": 20, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 1600, "n_head": 25,
      "n_layer": 48, "n_positions": 1024, "num_beams": 1, "output_past": true,
      "resid_pdrop": 0.1, "temperature": 1.0, "top_k": 50, "top_p": 1.0, "vocab_size": 50257})"},
};

TEST(PublishedConfigs, AreRead) {
  for (const Case& c : published)
    EXPECT_EQ(published_of(Json::parse(c.config), c.name).encoding, c.encoding) << c.name;
}

// What changes the numbers is refused by its name.
TEST(PublishedConfigs, AreRefusedWhereTheySayMore) {
  const auto refused = [](const char* name, const char* field, const Json& value) {
    for (const Case& c : published) {
      if (std::string(c.name).find(name) == std::string::npos) continue;
      Json config = Json::parse(c.config);
      config[field] = value;
      try {
        published_of(config, "config.json");
        ADD_FAILURE() << field << " was taken";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Exit::data);
        EXPECT_THAT(e.what(), HasSubstr(std::string("config.json: '") + field + "' is "));
      }
    }
  };
  refused("SmolLM2", "rope_interleaved", true);
  refused("SmolLM2", "attention_multiplier", 0.5);
  refused("Qwen2.5", "layer_types", {"full_attention", "sliding_attention"});
  refused("Qwen2.5", "layer_types", "full_attention");
  refused("Qwen3", "use_sliding_window", true);
  refused("SmolLM3", "layer_types", {"sliding_attention"});
  refused("gemma-3", "query_pre_attn_scalar", 0);
  refused("gemma-3", "final_logit_softcapping", -30.0);
  refused("gemma-2-2b", "attn_logit_softcapping", 1e-4);
  refused("gemma-2-2b", "sliding_window", nullptr);
  refused("gemma-3", "hidden_activation", "gelu");
  refused("gemma-2b", "hidden_act", "silu");
  refused("Olmo-3", "clip_qkv", 8.0);
  for (const char* name : {"SmolLM3", "Olmo-3", "gemma-3"})  // and no memory is asked for
    refused(name, "num_hidden_layers", 2000000000);
  refused("command-r7b", "use_qk_norm", true);
  refused("command-r7b", "rotary_pct", 0.5);
  refused("command-r7b", "layer_switch", 3);
  refused("command-r7b", "use_parallel_block", false);
  refused("EXAONE", "sliding_window_pattern", "LGLG");
  refused("EXAONE", "sliding_window_pattern", "GLLL");
  refused("granite", "residual_multiplier", 0.0);
  refused("Phi-3", "attention_bias", true);
  refused("phi-2", "qk_layernorm", true);
  refused("stablelm", "qk_layernorm", true);
  refused("starcoder2", "mlp_type", "gated");
  refused("gpt2-xl", "pruned_heads", {{"0", {1}}});
  refused("gpt-j", "rotary", false);
  refused("gpt-j", "scale_attn_weights", false);
}

// Windows in each many-th layer or by letters, and none; where layers see all nothing turns.
TEST(PublishedConfigs, ChunksAreRefusedWhereTheyCannotBe) {
  Json config;
  for (const Case& c : published)
    if (std::string(c.name).find("1M") != std::string::npos) config = Json::parse(c.config);
  const auto refused = [](const Json& config) {
    try {
      return published_of(config, "config.json").encoding;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::data);
      return std::string(e.what());
    }
  };
  Json& chunks = config["dual_chunk_attention_config"];
  const auto with = [&](const char* field, const Json& value) {
    const Json kept = chunks;
    chunks[field] = value;
    std::string why = refused(config);
    chunks = kept;
    return why;
  };
  EXPECT_THAT(with("local_size", 262144),
              HasSubstr("'local_size' is not below chunk_size, 262144"));
  EXPECT_THAT(with("sparse_attention_enabled", true), HasSubstr("sparse_attention_enabled"));
  EXPECT_THAT(with("more", 1), HasSubstr("more"));
  EXPECT_EQ(with("original_max_position_embeddings", 0),
            "dual_chunk(base=10000000, chunk=262144, window=8192)");
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
  EXPECT_THAT(refused(config), HasSubstr("stands beside a rope_scaling"));
}

TEST(PublishedConfigs, LayersThatSeeAllHaveNoEncoding) {
  const auto taken = [](const char* name, const Json& change) {
    for (const Case& c : published) {
      if (std::string_view(c.name).find(name) == std::string_view::npos) continue;
      Json config = Json::parse(c.config);
      config.update(change);
      return published_of(config, "config.json");
    }
    return Published{};
  };
  const Json no_types = {{"layer_types", nullptr}};
  EXPECT_EQ(taken("EXAONE", no_types).model.window_every, 4);
  Json by_letters = no_types, none = no_types;
  by_letters["sliding_window_pattern"] = "LG";
  EXPECT_EQ(taken("EXAONE", by_letters).model.window_every, 2);
  by_letters["sliding_window_pattern"] = 8;
  EXPECT_EQ(taken("EXAONE", by_letters).model.window_every, 8);
  none["sliding_window"] = nullptr;
  EXPECT_EQ(taken("EXAONE", none).model.window, 0);
  EXPECT_THAT(taken("EXAONE", none).encoding, ::testing::StartsWith("llama3("));
  EXPECT_THROW(taken("EXAONE", {{"sliding_window", nullptr}}), Error);
  // without windows no layer of Command R turns
  EXPECT_EQ(taken("command-r7b", {{"sliding_window_pattern", 1}, {"layer_switch", 1}}).encoding,
            "none");
  EXPECT_EQ(taken("command-r7b", {{"sliding_window_pattern", 64}, {"layer_switch", 64}}).encoding,
            "rope(base=50000, layout=interleaved)");
  EXPECT_THROW(taken("command-r7b", {{"sliding_window", nullptr}}), Error);
  EXPECT_THROW(taken("command-r7b", {{"model_type", "cohere"}, {"rope_theta", nullptr}}), Error);
}

// Caps that are missing are the published code's; null is none.
TEST(PublishedConfigs, OfGemma2AreCapped) {
  const auto taken = [](const Json& more) {
    Json config = {{"model_type", "gemma2"},   {"hidden_size", 64},
                   {"vocab_size", 100},        {"num_hidden_layers", 4},
                   {"num_attention_heads", 4}, {"intermediate_size", 128},
                   {"num_key_value_heads", 2}, {"sliding_window", 16}};
    config.update(more);
    return published_of(config, "config.json").model;
  };
  EXPECT_EQ(taken(Json::object()).score_softcap, 50);
  EXPECT_EQ(taken(Json::object()).logit_softcap, 30);
  EXPECT_EQ(taken(Json::object()).window_every, 2);
  EXPECT_EQ(taken({{"attn_logit_softcapping", nullptr}}).score_softcap, 0);
  EXPECT_EQ(taken({{"final_logit_softcapping", nullptr}}).logit_softcap, 0);
  EXPECT_EQ(taken({{"model_type", "gemma3_text"}}).score_softcap, 0);
  EXPECT_EQ(taken({{"model_type", "gemma3_text"}, {"final_logit_softcapping", 20}}).logit_softcap,
            20);
}

// Of a model of images and text the part that reads text, with the published code's defaults.
TEST(PublishedConfigs, OfImagesAndTextAreReadForTheText) {
  const Json text = {{"num_hidden_layers", 6}};
  const Published p = published_of(
      {{"model_type", "gemma3"}, {"text_config", text}, {"eos_token_id", {1, 106}}}, "c");
  EXPECT_EQ(p.type, "gemma3_text");
  EXPECT_EQ(p.model.vocabulary, 262208);
  EXPECT_EQ(p.model.groups(), 4);
  EXPECT_EQ(p.model.window, 4096);
  EXPECT_EQ(p.model.window_every, 6);
  EXPECT_EQ(p.ends, (std::vector<std::int32_t>{1, 106}));
  EXPECT_EQ(published_of({{"model_type", "mistral3"},
                          {"text_config", {{"sliding_window", nullptr}, {"head_dim", 64}}}},
                         "c")
                .model.window,
            0);
  const auto refused = [](const Json& config, const char* words) {
    try {
      published_of(config, "config.json");
      ADD_FAILURE() << config;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Exit::data);
      EXPECT_THAT(e.what(), HasSubstr(words));
    }
  };
  refused({{"model_type", "gemma3"}, {"text_config", 3}}, "'text_config' is 3");
  refused({{"model_type", "gemma3"}, {"scores", 3}}, "'scores'");
  refused({{"model_type", "gemma3"}, {"text_config", {{"model_type", "llama"}}}},
          "has model_type \"llama\"; known there is gemma3_text");
  refused({{"model_type", "gemma3"}, {"text_config", {{"model_type", 3}}}}, "has model_type 3");
  refused({{"model_type", "mistral3"}, {"text_config", {{"rope_theta", "x"}}}},
          "config.json: text_config: 'rope_theta'");
  refused({{"model_type", "mistral3"}, {"quantization_config", {{"bits", 4}}}}, "quantized");
}

// Windows of some layers: each so many-th layer has none, or the list is refused.
TEST(PublishedConfigs, WindowsStandInAPattern) {
  const auto taken = [](const Json& change) {
    Json config;
    for (const Case& c : published)
      if (std::string_view(c.name).find("Olmo-3") != std::string_view::npos)
        config = Json::parse(c.config);
    config.update(change);
    return published_of(config, "config.json");
  };
  const auto types = [](const std::string& letters) {
    Json out = Json::array();
    for (const char c : letters) out.push_back(c == 'f' ? "full_attention" : "sliding_attention");
    return Json{{"layer_types", out}};
  };
  EXPECT_EQ(taken(types("sfsf")).model.window_every, 2);
  EXPECT_EQ(taken(types("sfsf")).model.window, 4096);
  EXPECT_EQ(taken({{"layer_types", nullptr}, {"num_hidden_layers", 3}}).model.window_every, 0);
  EXPECT_EQ(taken({{"layer_types", nullptr}}).model.window_every, 4);
  EXPECT_EQ(taken(types("ssss")).encoding, "rope(base=500000)");
  EXPECT_EQ(taken(types("ssss")).model.window_every, 0);
  EXPECT_EQ(taken(types("ffff")).model.window, 0);
  EXPECT_THAT(taken(types("ffff")).encoding, HasSubstr("yarn("));
  for (const char* letters : {"ffsf", "fsss", "sffs", "sss"})
    EXPECT_THROW(taken(types(letters)), Error) << letters;
  EXPECT_THROW(taken({{"layer_types", {"chunked_attention", 1, 2, 3}}}), Error);
  EXPECT_THROW(taken({{"sliding_window", -1}}), Error);
  EXPECT_THROW(taken({{"sliding_window", nullptr}}), Error);
  Json all = types("ffff");
  all["sliding_window"] = nullptr;
  EXPECT_EQ(taken(all).model.window, 0);
}

}  // namespace
}  // namespace pesuite::hf
