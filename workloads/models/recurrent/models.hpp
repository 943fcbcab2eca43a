// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab {

// Whole models as one training step: copy the tokens in, forward, loss, backward, update, copy the
// loss out. The recurrent layers are cut as `recurrent` cuts them and keep its task names; layer
// tags count all chains of the model from the encoder's lowest to the decoder's highest. All other
// tasks have no layer and handle all steps at once, but for attention, which handles
// `attention_steps` target steps. Their classes follow S1: what forward and backward data wait for
// is critical, what only an update waits for is a weight gradient. Sequences are padded to their
// longest step. Left out: dropout, gradient clipping, masks (point-wise passes that libraries fuse
// or that cost little).

/// What the models have in common.
struct ModelOptions {
  DataType type = DataType::fp32;
  RecurrentCut cut;
  Optimizer optimizer = Optimizer::adam;
  bool transfers = true;
  bool tensors = true;
};

/// GNMT v2 as published for PyTorch (NVIDIA DeepLearningExamples, MLPerf training v0.5) and, of the
/// same structure, MindSpore: encoder of `layers` LSTM layers, the first bidirectional, decoder of
/// `layers`; the decoder's first layer queries a normalised Bahdanau attention, whose context is
/// part of the input of all layers above; residual connections around the layers from the third on;
/// one table of word vectors for both languages; classifier over the vocabulary.
struct GnmtSpec {
  std::int64_t layers = 4;  ///< of encoder and decoder each, at least 2
  std::int64_t hidden = 1024;
  std::int64_t batch = 128;
  std::int64_t source_steps = 50;  ///< the longest that is trained on; the mean is about half
  std::int64_t target_steps = 50;
  std::int64_t vocabulary = 32320;   ///< wmt16 de-en, 32,000 merges, padded to a multiple of 8
  std::int64_t attention_steps = 0;  ///< target steps in one attention task; 0: all
  ModelOptions model;
};
[[nodiscard]] TaskGraph gnmt(const GnmtSpec& spec);

/// The default model of OpenNMT-py: encoder and decoder of LSTM layers, the decoder starts from the
/// encoder's final states; global attention ("general", Luong) on the decoder's top layer; with
/// `input_feed` its result is part of the decoder's next input, so that attention is part of the
/// recurrence.
struct OpennmtSpec {
  std::int64_t layers = 2;
  std::int64_t hidden = 500;
  std::int64_t embedding = 500;
  std::int64_t batch = 64;
  std::int64_t source_steps = 50;
  std::int64_t target_steps = 50;
  std::int64_t source_vocabulary = 24997;  ///< of the demonstration data (toy_en_de)
  std::int64_t target_vocabulary = 35820;
  bool input_feed = true;
  std::int64_t attention_steps = 1;  ///< without input_feed; 0: all
  ModelOptions model{.type = DataType::fp32, .cut = {}, .optimizer = Optimizer::sgd};
};
[[nodiscard]] TaskGraph opennmt(const OpennmtSpec& spec);

/// Sentiment classification of film reviews (aclImdb) on GloVe vectors, as MindSpore's tutorial:
/// word vectors, LSTM layers, and a dense layer on the final states of the top layer.
struct SentimentLstmSpec {
  std::int64_t layers = 2;
  std::int64_t hidden = 256;
  std::int64_t embedding = 100;  ///< GloVe 6B.100d
  std::int64_t steps = 500;      ///< longer reviews are cut
  std::int64_t batch = 64;
  std::int64_t vocabulary = 400'002;  ///< GloVe and two for unknown words and padding
  std::int64_t classes = 1;           ///< outputs
  Bidirectional bidirectional = Bidirectional::all;
  ModelOptions model;
};
[[nodiscard]] TaskGraph sentiment_lstm(const SentimentLstmSpec& spec);

}  // namespace schedlab
