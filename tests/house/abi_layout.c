/* The layout of the plugin interface, major 1 minor 6, on x86-64: what is compiled stays loadable.
 * Appending a field changes a size here and raises PES_ABI_MINOR; moving one raises PES_ABI_MAJOR.
 * Compiled as C11 and as C++20, behind pesuite.h and nothing else. */
#ifndef __cplusplus
#define static_assert _Static_assert
#endif

static_assert(PES_ABI_MAJOR == 1 && PES_ABI_MINOR == 7, "pin the layout of the new version");

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " has another size")
#define AT(type, field, bytes) \
  static_assert(offsetof(type, field) == (bytes), #type "." #field " has moved")
#define IS(name, value) static_assert((int)(name) == (value), #name " has another value")

SIZE(pes_tensor, 4);
AT(pes_tensor, id, 0);

SIZE(pes_ops, 152);
AT(pes_ops, size, 0);
AT(pes_ops, fail, 8);
AT(pes_ops, shape, 16);
AT(pes_ops, upload, 24);
AT(pes_ops, unary, 32);
AT(pes_ops, binary, 40);
AT(pes_ops, affine, 48);
AT(pes_ops, matmul, 56);
AT(pes_ops, sum, 64);
AT(pes_ops, cumsum, 72);
AT(pes_ops, reshape, 80);
AT(pes_ops, permute, 88);
AT(pes_ops, slice, 96);
AT(pes_ops, concat, 104);
AT(pes_ops, take, 112);
AT(pes_ops, rows, 120);
AT(pes_ops, rotate, 128);
AT(pes_ops, interpolate, 136); /* 1.2 */
AT(pes_ops, extension, 144);   /* 1.4 */

SIZE(pes_log, 16);
AT(pes_log, size, 0);
AT(pes_log, say, 8);

SIZE(pes_option, 64);
AT(pes_option, size, 0);
AT(pes_option, name, 8);
AT(pes_option, value, 16);
AT(pes_option, help, 24);
AT(pes_option, type, 32);
AT(pes_option, low, 40);
AT(pes_option, high, 48);
AT(pes_option, choices, 56);

SIZE(pes_card, 136);
AT(pes_card, size, 0);
AT(pes_card, name, 8);
AT(pes_card, summary, 16);
AT(pes_card, version, 24);
AT(pes_card, taxonomy, 32);
AT(pes_card, used_in, 40);
AT(pes_card, paper, 48);
AT(pes_card, bibtex, 56);
AT(pes_card, claims, 64);
AT(pes_card, options, 72);
AT(pes_card, cost, 80); /* 1.1 */
AT(pes_card, rating, 88);
AT(pes_card, extension, 96);
AT(pes_card, extends, 104);
AT(pes_card, use_if, 112);
AT(pes_card, uses, 120);
AT(pes_card, tune, 128); /* 1.3 */

SIZE(pes_model, 48);
AT(pes_model, size, 0);
AT(pes_model, layers, 8);
AT(pes_model, heads, 12);
AT(pes_model, kv_heads, 16);
AT(pes_model, head_dim, 20);
AT(pes_model, width, 24);
AT(pes_model, train_length, 28);
AT(pes_model, max_length, 32);
AT(pes_model, unused, 36);
AT(pes_model, positions, 40);

SIZE(pes_step, 88);
AT(pes_step, size, 0);
AT(pes_step, ctx, 8);
AT(pes_step, ops, 16);
AT(pes_step, params, 24);
AT(pes_step, phase, 32);
AT(pes_step, step, 40);
AT(pes_step, steps, 48);
AT(pes_step, seed, 56);
AT(pes_step, batch, 64);
AT(pes_step, length, 68);
AT(pes_step, offset, 72);
AT(pes_step, unused, 76);
AT(pes_step, positions, 80);

SIZE(pes_attention, 48);
AT(pes_attention, size, 0);
AT(pes_attention, layer, 8);
AT(pes_attention, x, 12);
AT(pes_attention, q, 16);
AT(pes_attention, k, 20);
AT(pes_attention, scale, 24);
AT(pes_attention, distance, 32);
AT(pes_attention, bias, 36);
AT(pes_attention, rewrite, 40);

SIZE(pes_scores, 56);
AT(pes_scores, size, 0);
AT(pes_scores, layer, 8);
AT(pes_scores, first, 12);
AT(pes_scores, x, 16);
AT(pes_scores, q, 20);
AT(pes_scores, k, 24);
AT(pes_scores, visible, 28);
AT(pes_scores, scale, 32);
AT(pes_scores, scores, 40);
AT(pes_scores, unused, 44); /* 1.1 */
AT(pes_scores, v, 48);

SIZE(pes_param, 80);
AT(pes_param, size, 0);
AT(pes_param, name, 8);
AT(pes_param, rank, 16);
AT(pes_param, shape, 24);
AT(pes_param, decay, 56);
AT(pes_param, low, 64); /* 1.1 */
AT(pes_param, high, 72);

SIZE(pes_created, 24);
AT(pes_created, size, 0);
AT(pes_created, self, 8);
AT(pes_created, params, 16);

SIZE(pes_encoding, 88);
AT(pes_encoding, size, 0);
AT(pes_encoding, card, 8);
AT(pes_encoding, create, 16);
AT(pes_encoding, destroy, 24);
AT(pes_encoding, init, 32);
AT(pes_encoding, begin, 40);
AT(pes_encoding, embed, 48);
AT(pes_encoding, attend, 56);
AT(pes_encoding, rewrite, 64);
AT(pes_encoding, untrained, 72);
AT(pes_encoding, stale, 80); /* 1.7 */

SIZE(pes_axis, 56);
AT(pes_axis, size, 0);
AT(pes_axis, name, 8);
AT(pes_axis, unit, 16);
AT(pes_axis, help, 24);
AT(pes_axis, values, 32);
AT(pes_axis, labels, 40);
AT(pes_axis, count, 48);
AT(pes_axis, trained, 52);

SIZE(pes_shortcut, 32);
AT(pes_shortcut, size, 0);
AT(pes_shortcut, name, 8);
AT(pes_shortcut, level, 16);
AT(pes_shortcut, why, 24);

SIZE(pes_use, 24);
AT(pes_use, size, 0);
AT(pes_use, train_length, 8);
AT(pes_use, max_length, 12);
AT(pes_use, reach, 16);

SIZE(pes_task_created, 136);
AT(pes_task_created, size, 0);
AT(pes_task_created, self, 8);
AT(pes_task_created, inputs, 16);
AT(pes_task_created, outputs, 20);
AT(pes_task_created, head, 24);
AT(pes_task_created, document, 32);
AT(pes_task_created, documents, 40);
AT(pes_task_created, token_bytes, 64);
AT(pes_task_created, digest, 72);
AT(pes_task_created, note, 80);
AT(pes_task_created, axes, 88);
AT(pes_task_created, shortcuts, 96);
AT(pes_task_created, candidate_first, 104);
AT(pes_task_created, candidates, 108);
AT(pes_task_created, positions, 112);
AT(pes_task_created, unused, 116);           /* 1.5 */
AT(pes_task_created, candidate_tokens, 120); /* 1.5 */
AT(pes_task_created, separated, 128);        /* 1.6 */
AT(pes_task_created, separator, 132);        /* 1.6 */

SIZE(pes_request, 56);
AT(pes_request, size, 0);
AT(pes_request, split, 8);
AT(pes_request, seed, 16);
AT(pes_request, index, 24);
AT(pes_request, length, 32);
AT(pes_request, start, 40);
AT(pes_request, axes, 48);

SIZE(pes_example, 48);
AT(pes_example, size, 0);
AT(pes_example, tokens, 8);
AT(pes_example, targets, 16);
AT(pes_example, optimum, 24);
AT(pes_example, positions, 32);
AT(pes_example, distances, 40);

SIZE(pes_task, 80);
AT(pes_task, size, 0);
AT(pes_task, card, 8);
AT(pes_task, create, 16);
AT(pes_task, destroy, 24);
AT(pes_task, sample, 32);
AT(pes_task, oracle, 40);
AT(pes_task, chance, 48);
AT(pes_task, distinct, 56);
AT(pes_task, chance_at, 64); /* 1.1 */
AT(pes_task, predict, 72);

SIZE(pes_library, 64);
AT(pes_library, size, 0);
AT(pes_library, abi_major, 8);
AT(pes_library, abi_minor, 12);
AT(pes_library, name, 16);
AT(pes_library, version, 24);
AT(pes_library, licence, 32);
AT(pes_library, encodings, 40);
AT(pes_library, tasks, 48);
AT(pes_library, needs_minor, 56); /* 1.4 */

IS(PES_FLOOR, 10);
IS(PES_MAX, 5);
IS(PES_PAIRS_INTERLEAVED, 1);
IS(PES_REALS, 5);
IS(PES_UNBOUNDED, 16);
IS(PES_WITHOUT_TUNING, 1); /* 1.1 */
IS(PES_SEARCHED, 2);
IS(PES_EVAL, 1);
IS(PES_FIRST_SYMBOL, 8);
IS(PES_CLS, 2);
IS(PES_SPLIT_TEST, 2);
