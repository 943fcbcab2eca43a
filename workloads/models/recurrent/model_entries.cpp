// SPDX-License-Identifier: Apache-2.0
#include "workloads/entry_options.hpp"
#include "workloads/models/recurrent/models.hpp"
#include "workloads/workload_entries.hpp"

#include <utility>

namespace schedlab {
namespace {

using detail::size_option;

constexpr std::array<std::string_view, 3> bidirectional_names{"none", "first", "all"};

std::vector<OptionSpec> with_model_options(std::vector<OptionSpec> options, Optimizer optimizer) {
  options.push_back({.name = "data_type",
                     .default_value = std::string{"fp32"},
                     .doc = "type of all elements",
                     .allowed = enum_names<DataType>()});
  detail::add_cut_options(options);
  detail::add_training_options(options, optimizer);
  return options;
}

ModelOptions model_from(const Options& o) {
  return {.type = enum_value<DataType>(o.text("data_type")),
          .cut = detail::cut_from(o),
          .optimizer = detail::optimizer_from(o),
          .transfers = o.flag("include_transfers"),
          .tensors = o.flag("include_tensors")};
}

OptionSpec attention_steps_option(std::int64_t value, const char* doc) {
  return size_option("attention_steps", value, doc, 0);
}

}  // namespace

WorkloadInfo gnmt_workload() {
  const GnmtSpec d;
  return {.name = "gnmt",
          .summary =
              "training step of GNMT v2 (wmt16 de-en): LSTM encoder with a bidirectional "
              "first layer, decoder with Bahdanau attention",
          .options = with_model_options(
              {size_option("layers", d.layers, "layers of encoder and decoder each", 2, 16383),
               size_option("hidden", d.hidden, "width of hidden states and word vectors"),
               size_option("batch", d.batch, "sentences trained at once"),
               size_option("source_steps", d.source_steps, "words of a source sentence, padded"),
               size_option("target_steps", d.target_steps, "words of a target sentence, padded"),
               size_option("vocabulary", d.vocabulary, "words, of both languages"),
               attention_steps_option(
                   d.attention_steps,
                   "target steps in one attention task; 0: all at once, as the published model"),
               size_option("input_steps",
                           d.model.cut.input_steps,
                           "steps of a layer whose input products are one product, as for lstm; 0: "
                           "all",
                           0)},
              d.model.optimizer),
          .make = [](const Options& o) {
            GnmtSpec spec;
            spec.layers = o.integer("layers");
            spec.hidden = o.integer("hidden");
            spec.batch = o.integer("batch");
            spec.source_steps = o.integer("source_steps");
            spec.target_steps = o.integer("target_steps");
            spec.vocabulary = o.integer("vocabulary");
            spec.attention_steps = o.integer("attention_steps");
            spec.model = model_from(o);
            spec.model.cut.input_steps = o.integer("input_steps");
            return gnmt(spec);
          }};
}

WorkloadInfo opennmt_workload() {
  const OpennmtSpec d;
  return {
      .name = "opennmt",
      .summary =
          "training step of OpenNMT's default model (toy_en_de): LSTM encoder and decoder, "
          "global attention fed back into the decoder",
      .options = with_model_options(
          {size_option("layers", d.layers, "layers of encoder and decoder each", 1, 16383),
           size_option("hidden", d.hidden, "width of hidden states"),
           size_option("embedding", d.embedding, "width of word vectors"),
           size_option("batch", d.batch, "sentences trained at once"),
           size_option("source_steps", d.source_steps, "words of a source sentence, padded"),
           size_option("target_steps", d.target_steps, "words of a target sentence, padded"),
           size_option("source_vocabulary", d.source_vocabulary, "words of the source language"),
           size_option("target_vocabulary", d.target_vocabulary, "words of the target language"),
           {.name = "input_feed",
            .default_value = d.input_feed,
            .doc = "the attention's result is part of the decoder's next input"},
           attention_steps_option(
               d.attention_steps,
               "without input_feed, target steps in one attention task; 0: all at once")},
          d.model.optimizer),
      .make = [](const Options& o) {
        OpennmtSpec spec;
        spec.layers = o.integer("layers");
        spec.hidden = o.integer("hidden");
        spec.embedding = o.integer("embedding");
        spec.batch = o.integer("batch");
        spec.source_steps = o.integer("source_steps");
        spec.target_steps = o.integer("target_steps");
        spec.source_vocabulary = o.integer("source_vocabulary");
        spec.target_vocabulary = o.integer("target_vocabulary");
        spec.input_feed = o.flag("input_feed");
        spec.attention_steps = o.integer("attention_steps");
        spec.model = model_from(o);
        return opennmt(spec);
      }};
}

WorkloadInfo sentiment_lstm_workload() {
  const SentimentLstmSpec d;
  return {.name = "sentiment_lstm",
          .summary =
              "training step of a sentiment classifier (aclImdb, GloVe): word vectors, LSTM "
              "layers of two directions, dense layer",
          .options = with_model_options(
              {size_option("layers", d.layers, "recurrent layers", 1, 16383),
               size_option("hidden", d.hidden, "width of the hidden state, of each direction"),
               size_option("embedding", d.embedding, "width of word vectors"),
               size_option("steps", d.steps, "words of a review, padded or cut"),
               size_option("batch", d.batch, "reviews trained at once"),
               size_option("vocabulary", d.vocabulary, "words"),
               size_option("classes", d.classes, "outputs of the dense layer"),
               {.name = "bidirectional",
                .default_value = std::string{"all"},
                .doc = "layers that also run from the last step to the first",
                .allowed = detail::allowed(bidirectional_names)}},
              d.model.optimizer),
          .make = [](const Options& o) {
            SentimentLstmSpec spec;
            spec.layers = o.integer("layers");
            spec.hidden = o.integer("hidden");
            spec.embedding = o.integer("embedding");
            spec.steps = o.integer("steps");
            spec.batch = o.integer("batch");
            spec.vocabulary = o.integer("vocabulary");
            spec.classes = o.integer("classes");
            spec.bidirectional =
                detail::name_to(bidirectional_names, o.text("bidirectional"), Bidirectional::all);
            spec.model = model_from(o);
            return sentiment_lstm(spec);
          }};
}

}  // namespace schedlab
