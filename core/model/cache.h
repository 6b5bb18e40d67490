// What a model keeps of the tokens it has read, so that it reads on without reading them again: of
// each layer keys and values.
//
// Most encodings place a token without looking at others: new tokens are read at their offset, and
// keys are kept as the encoding left them. One that adds to the scores, rewrites them or reads the
// layer's input has to see the whole sequence: for it keys are kept as they were before, and where
// it needs them the inputs too. Which of the two it is shows in the first pass; where a later one
// shows more, all tokens are read again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"

namespace pesuite {

class Cache {
 public:
  // For `batch` sequences of at most `longest` tokens, of one length. Model::read() takes several
  // caches at a time, for sequences of several lengths.
  Cache(Model&, int batch, int longest);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  int batch() const { return batch_; }
  int longest() const { return longest_; }
  int length() const { return length_; }         // tokens that it holds of each sequence
  std::size_t memory() const { return bytes_; }  // bytes of keys, values and inputs
  int rereads() const { return rereads_; }  // how often all was read again since keys were stale
  // Forgets all tokens from this one on.
  void cut(int length);

 private:
  friend class Model;
  struct Held {  // [B, heads, longest, features], or inputs [B, longest, W]
    void* data = nullptr;
    Shape shape;
    Storage storage = Storage::own;
    View view() const { return {data, shape, storage}; }
  };
  struct Kept {  // of a layer
    Held keys, values, inputs;
  };
  // What the pass over new tokens needs of a layer's attention.
  struct Seen {
    Tensor q, k, v, input;  // as the encoding was given them
    Tensor own_q;           // of the new tokens alone
  };

  void append(Tape&, Held&, Tensor x);                 // behind the length_ tokens that it holds
  Tensor whole(Tape&, const Held&, int length) const;  // of the first tokens, in own storage
  void forget();                                       // keys, values and inputs
  // Puts `n` tokens of each sequence behind those that it holds; `from` has sequence after sequence.
  void add(std::span<const std::int32_t> from, int n);
  // Before an encoding acts on a layer, and after it. `input`: the layer's. False: it showed that
  // all must be read again.
  Seen show(Tape&, int layer, Attention&, Tensor& input);
  bool settle(Tape&, int layer, const Seen&, Attention&);

  Backend& backend_;
  int batch_, longest_, length_ = 0, added_ = 0;  // added: by the pass that goes on
  bool sequence_ = false, inputs_ = false;  // how tokens are kept
  bool failed_ = false;                     // a pass showed more than was kept
  int rereads_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Kept> layers_;
  std::vector<std::int32_t> tokens_;  // [B, longest]
};

}  // namespace pesuite
