package safetensors

import "github.com/weft-ml/weft/weights"

// OpenIndex opens a model in several files by its index, model.safetensors.index.json.
func OpenIndex(path string) (*weights.Shards, error) {
	return weights.OpenShards(path, func(path string) (weights.File, error) { return Open(path) })
}
