"""Records small random models of each family and what they say, as the transformers library computes it in float64.

    pip install torch transformers
    python record.py

Writes a folder for each model: config.json and model.safetensors (BF16), as the library saves them, and expected.safetensors with the ids
that were read and the logits after each of them. The models are random numbers; nothing of others is in them.
"""

import os
import shutil

import torch
from safetensors.torch import save_file
from transformers import (Gemma2Config, Gemma2ForCausalLM, Gemma3ForCausalLM, Gemma3TextConfig, GemmaConfig, GemmaForCausalLM, GPT2Config,
                          GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Phi3Config, Phi3ForCausalLM, PhiConfig,
                          PhiForCausalLM, SmolLM3Config, SmolLM3ForCausalLM)

VOCAB, LENGTH, TOKENS = 40, 64, 26
SIZES = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=LENGTH, eos_token_id=3, bos_token_id=1, pad_token_id=0)


def sizes(**more):
    return {**SIZES, **more}


LONG = dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.5, 2.0, 2.5], long_factor=[1.0, 4.0, 8.0, 16.0])

MODELS = {
    "gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=LENGTH, n_inner=None, eos_token_id=3,
                                       bos_token_id=1)),
    "phi2": PhiForCausalLM(PhiConfig(**sizes(num_key_value_heads=4, partial_rotary_factor=0.5, hidden_act="gelu_new"))),
    "phi3": Phi3ForCausalLM(Phi3Config(**sizes(sliding_window=7))),
    # A long text of a model that was trained on 16 positions.
    "phi3-long": Phi3ForCausalLM(Phi3Config(**sizes(original_max_position_embeddings=16, rope_parameters=LONG, tie_word_embeddings=True))),
    "gemma": GemmaForCausalLM(GemmaConfig(**sizes(head_dim=12, num_key_value_heads=1))),
    "gemma2": Gemma2ForCausalLM(Gemma2Config(**sizes(head_dim=12, query_pre_attn_scalar=8, sliding_window=6, attn_logit_softcapping=5.0,
                                                     final_logit_softcapping=3.0))),
    "gemma3": Gemma3ForCausalLM(Gemma3TextConfig(**sizes(
        hidden_size=16, intermediate_size=16, num_hidden_layers=7, num_attention_heads=2, num_key_value_heads=1, head_dim=12, sliding_window=5,
        query_pre_attn_scalar=12, rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                                                   "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}))),
    "smollm2": LlamaForCausalLM(LlamaConfig(**sizes(tie_word_embeddings=True, rope_theta=100000.0))),
    "llama-bias": LlamaForCausalLM(LlamaConfig(**sizes(attention_bias=True, mlp_bias=True))),
    "smollm3": SmolLM3ForCausalLM(SmolLM3Config(**sizes(num_hidden_layers=5, hidden_size=16, intermediate_size=16))),
    "mistral": MistralForCausalLM(MistralConfig(**sizes(sliding_window=9))),
}


def randomise(model, generator):
    for name, p in model.named_parameters():
        r = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        if p.dim() > 1:
            value = 0.3 * r
        elif name.endswith("bias"):
            value = 0.2 * r
        elif type(model).__name__.startswith("Gemma"):  # to which 1 is added
            value = 0.3 * r
        else:
            value = 1 + 0.3 * r
        p.data = value.to(torch.bfloat16)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for seed, (name, model) in enumerate(MODELS.items()):
        generator = torch.Generator().manual_seed(seed)
        randomise(model, generator)
        model.tie_weights()
        folder = os.path.join(here, name)
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder)
        os.remove(os.path.join(folder, "generation_config.json"))
        model = model.double().eval()
        model.config._attn_implementation = "eager"
        ids = torch.randint(0, VOCAB, (1, TOKENS), generator=generator)
        with torch.no_grad():
            logits = model(ids, use_cache=False).logits[0]
        save_file({"ids": ids[0].clone(), "logits": logits.float().clone()}, os.path.join(folder, "expected.safetensors"))
        print(name, sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)), logits.abs().mean().item(), logits.dtype)


main()
