"""Writes the recorded models of ../architectures as GGUF files, with the names, keys and writer of llama.cpp's own package.

    pip install gguf safetensors
    python write.py

What is left to a converter (which keys a family's files have, what is done to its weights) is as llama.cpp's converter of folders does it: it
adds 1 to the norms of Gemma, turns GPT-2's matrices, brings queries and keys of Llama into the order of neighbours, and says of a family only
what its program does not know by itself. Matrices stay BF16, so that the values are those of the folders.
"""

import json
import math
import os

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Q

HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB = 40


def tensors(path):
    """The tensors of a safetensors file of BF16: names, shapes and words."""
    with open(path, "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        start = f.tell()
        for name, t in head.items():
            if name == "__metadata__":
                continue
            assert t["dtype"] == "BF16", name
            f.seek(start + t["data_offsets"][0])
            raw = f.read(t["data_offsets"][1] - t["data_offsets"][0])
            yield name, np.frombuffer(raw, np.uint16).reshape(t["shape"])


def floats(words):
    return (words.astype(np.uint32) << 16).view(np.float32)


def permuted(w, heads):
    """Rows of queries or keys, whose halves of heads are pairs, so that neighbours are."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def heads_of(w, c):
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])


def llama(w, c):
    heads_of(w, c)
    w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_vocab_size(c["vocab_size"])
    w.add_rope_dimension_count(c["hidden_size"] // c["num_attention_heads"])


def gpt2(w, c):
    w.add_context_length(c["n_positions"])
    w.add_embedding_length(c["n_embd"])
    w.add_feed_forward_length(4 * c["n_embd"])
    w.add_head_count(c["n_head"])
    w.add_layer_norm_eps(c["layer_norm_epsilon"])


def phi2(w, c):
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_attention_heads"])
    w.add_layer_norm_eps(c["layer_norm_eps"])
    part = c["rope_parameters"]["partial_rotary_factor"]
    w.add_rope_dimension_count(int(part * c["hidden_size"]) // c["num_attention_heads"])
    w.add_add_bos_token(False)


def phi3(w, c):
    heads_of(w, c)
    w.add_rope_scaling_orig_ctx_len(c.get("original_max_position_embeddings", c["max_position_embeddings"]))
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_rope_dimension_count(c["hidden_size"] // c["num_attention_heads"])
    w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
    w.add_sliding_window(c.get("sliding_window") or 0)
    rope = c["rope_parameters"]
    if rope["rope_type"] == "longrope":
        original = c["original_max_position_embeddings"]
        scale = c["max_position_embeddings"] / original
        w.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(scale) / math.log(original)))
        for which in ("long", "short"):
            w.add_tensor(f"rope_factors_{which}.weight", np.array(rope[which + "_factor"], np.float32))


def gemma(w, c):
    heads_of(w, c)
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_key_length(c["head_dim"])
    w.add_value_length(c["head_dim"])


def gemma2(w, c):
    gemma(w, c)
    w.add_attn_logit_softcapping(c["attn_logit_softcapping"])
    w.add_final_logit_softcapping(c["final_logit_softcapping"])
    w.add_sliding_window(c["sliding_window"])


def gemma3(w, c):
    gemma(w, c)
    whole = c["rope_parameters"]["full_attention"]
    w.add_rope_freq_base(whole["rope_theta"])
    w.add_sliding_window(c["sliding_window"])
    w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    w.add_rope_scaling_factor(whole["factor"])


ARCH = gguf.MODEL_ARCH
FAMILIES = {  # by folder: llama.cpp's name, keys
    "gpt2": (ARCH.GPT2, gpt2), "phi2": (ARCH.PHI2, phi2), "phi3": (ARCH.PHI3, phi3), "phi3-long": (ARCH.PHI3, phi3), "gemma": (ARCH.GEMMA, gemma),
    "gemma2": (ARCH.GEMMA2, gemma2), "gemma3": (ARCH.GEMMA3, gemma3), "smollm3": (ARCH.SMOLLM3, llama), "llama-bias": (ARCH.LLAMA, llama),
}


def vocabulary(w, arch):
    """A vocabulary as the family's files have it: of bytes and merges, or of pieces with scores."""
    kind = gguf.TokenType
    if arch in (ARCH.GPT2, ARCH.PHI2, ARCH.LLAMA, ARCH.SMOLLM3):
        tokens = ["<|endoftext|>", "<|im_end|>"] + [chr(ord("a") + i) for i in range(26)] + ["ab", "cd", "abcd"]
        kinds = [kind.CONTROL] * 2 + [kind.NORMAL] * 29
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre({ARCH.GPT2: "gpt-2", ARCH.PHI2: "phi-2"}.get(arch, "smollm"))
        w.add_token_merges(["a b", "c d", "ab cd"])
        ends = (0, 0)
    else:
        ending = "<|end|>" if arch == ARCH.PHI3 else "<end_of_turn>"
        tokens = ["<unk>", "<s>", "<eos>", ending, "\u2581"] + [chr(ord("a") + i) for i in range(26)] + ["ab", "\u2581ab"]
        kinds = [kind.UNKNOWN, kind.CONTROL, kind.CONTROL, kind.CONTROL] + [kind.NORMAL] * 29
        w.add_tokenizer_model("llama")
        w.add_tokenizer_pre("default")
        w.add_token_scores([-float(i) for i in range(VOCAB)])
        w.add_unk_token_id(0)
        ends = (1, 2)
        if arch != ARCH.PHI3:
            w.add_add_space_prefix(False)
    for i in range(len(tokens), VOCAB):
        tokens.append(f"[PAD{i}]")
        kinds.append(kind.UNUSED)
    w.add_token_list(tokens)
    w.add_token_types([int(k) for k in kinds])
    w.add_bos_token_id(ends[0])
    w.add_eos_token_id(ends[1])


def main():
    for name, (arch, keys) in FAMILIES.items():
        folder = os.path.join(HERE, "..", "architectures", name)
        with open(os.path.join(folder, "config.json")) as f:
            c = json.load(f)
        layers = c.get("num_hidden_layers", c.get("n_layer"))
        w = gguf.GGUFWriter(os.path.join(HERE, name + ".gguf"), gguf.MODEL_ARCH_NAMES[arch])
        w.add_type(gguf.GGUFType.MODEL)
        w.add_name(name)
        w.add_block_count(layers)
        keys(w, c)
        w.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
        vocabulary(w, arch)
        names = gguf.get_tensor_name_map(arch, layers)
        for from_, words in tensors(os.path.join(folder, "model.safetensors")):
            to = names.get_name(from_, try_suffixes=(".weight", ".bias"))
            assert to, from_
            if arch in (ARCH.GEMMA, ARCH.GEMMA2, ARCH.GEMMA3) and from_.endswith("norm.weight"):
                w.add_tensor(to, floats(words) + 1)
                continue
            if arch == ARCH.GPT2 and from_.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
                words = words.T
            if arch in (ARCH.LLAMA, ARCH.SMOLLM3):
                if ".q_proj." in from_:
                    words = permuted(words, c["num_attention_heads"])
                if ".k_proj." in from_:
                    words = permuted(words, c["num_key_value_heads"])
            if words.ndim == 1 or to == "position_embd.weight":
                w.add_tensor(to, floats(words))
            else:
                w.add_tensor(to, np.ascontiguousarray(words).view(np.uint8), raw_dtype=Q.BF16)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        print(name, os.path.getsize(os.path.join(HERE, name + ".gguf")))


main()
