#!/bin/sh
# Makes what wrangler uploads: the exported model, the Go program and what starts it. MODEL names weights of weft train mnist --save; without it
# they are random.
set -e
cd "$(dirname "$0")"
out=${1:-build}
rm -rf "$out"
mkdir -p "$out"
go run github.com/weft-ml/weft/cmd/weft export mnist "$out/model" --function predict --for WASM --apart --weights float16 ${MODEL:+--model "$MODEL"}
GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o "$out/app.wasm" .
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" "$out"
