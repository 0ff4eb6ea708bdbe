# What there is to do here. Go 1.26 or newer is assumed; a C compiler is installed if missing.
#
#   make run      train on the built-in synthetic digits and show what the network sees; then build the site and, on a
#                 terminal, serve it
#   make test     all tests; of what devices share, cases run on the CPU, and a part with one case of each op elsewhere, and of what families of models
#                 do alike a part: the log says which (-v), and WEFT_EACH=1 runs all. go test -artifacts ./tests/site keeps pictures of all pages
#   make test-cogentcore   the smoke cases of WEBGPU through the other GPU library; make test runs them too
#   make table    how many cases pass on which device; make test prints it too
#   make test-web the tests in real browsers: needs Chromium, Firefox and WebKit, takes minutes; and those of the package for npm with every bundler, framework and
#                 runtime that it is for, which are fetched once into the user's cache (700 MB)
#   make test-arm  conformance cases on ARM, which qemu plays, with kernels by a cross compiler: a quarter of an hour
#   make fuzz TIME=2h SEED=1 DEVICES=CPU,WASM   random programs against REF for any time; without SEED a fresh one. What is
#                 found is shrunk and written to the folder fuzz-findings
#   make check    formatting, vet, staticcheck, race detector, CGO_ENABLED=0, other platforms
#   make fuzz-parsers TIME=10m   fuzz every parser of outside bytes or text, for a minute each if nothing is said; make check does so for 10 s each
#                 with those of files that come from anywhere, and a thousand inputs with the others
#   make tune-report   search the kernels of the benchmark cases and say how far the model's choices lie from the best found: an hour.
#                 ONLY="mlp-step conv2d-56" names cases; BEAM=n is the width, TUNE=--processor-time for a machine that does other work
#   make bench    the benchmark cases of the command line
#   make bench-web  a page beside other libraries, in Chromium: installs them from npm into the user's cache, takes minutes
#   make bench-peers  everyday programs beside PyTorch, JAX and ONNX Runtime: installs them from PyPI into the user's cache (6 GB), takes
#                 half an hour, writes docs/performance.md. ONLY=products measures less and writes nothing
#   make hunt SEED=3  programs drawn at random beside PyTorch, the slowest first: networks, and operations of random shapes, types and axes
#   make bench-gpu    the same programs on an NVIDIA processor through WebGPU, beside PyTorch with CUDA; writes docs/performance-gpu.md
#   make npm      make the package for npm: bin/npm
#   make site     build the site into site/dist, with the engine for browsers; prints how large both are
#   make serve PORT=8080   build and serve it
#   make shaders  ask the shader compilers of browsers, macOS and Windows about every shader of the tests
#   make kernels DIR=x   write every kernel that the tests compile to the folder x; go run ./tests/kernels/compare x y
#                 tells two such folders apart

GO      ?= go
PLATFORMS = js/wasm darwin/arm64 windows/amd64 linux/arm64 linux/amd64
SHELL   = /bin/bash -o pipefail

PORT    ?= 8080

SEED    ?= 0
DEVICES ?= CPU,WASM,INTERP,WEBGPU

.PHONY: fuzz tune-report run shaders test test-cogentcore test-web test-arm check fuzz-parsers parsers bench bench-web bench-peers hunt bench-gpu kernels wasm npm site serve compiler gpu browser firefox webkit table fmt vet staticcheck race nocgo cross

run: compiler
	$(GO) run ./cmd/weft train mnist
	@$(MAKE) --no-print-directory site
	@$(GO) run ./wasm/serve -port $(PORT) -terminal site/dist

# Tests of pages wait for browsers, and the time of the whole is what their waits add up to: they have a go test of their own, which comes first
# whenever it has something to do, and the other packages, the longest of them first, fill the two cores meanwhile. The
# collector runs less often, vetting is left to check, and Mesa's driver on the processor compiles shaders, of which most run once,
# without optimising them; the engine of pages is built once for all packages. The smoke cases of test-cogentcore run beside them, and what they
# print comes at the end.
TEST   = $(GO) test -vet=off -timeout 50m
PAGES  = ./tests/site ./tests/browser
OTHERS = ./tests ./tests/devicetest ./tensor ./codegen ./cmd/weft ./llm $$($(GO) list ./... | grep -vE '/tests/(site|browser)$$')
test: compiler gpu browser
	@rows=$$(mktemp) && other=$$(mktemp) && built=$$(mktemp -d) && trap 'rm -rf "$$rows" "$$other" "$$built"' EXIT; \
		nice -n 5 $(MAKE) --no-print-directory test-cogentcore >"$$other" 2>&1 & cogentcore=$$!; \
		test -n "$$WEFT_BUILT" || { $(GO) run ./wasm/pack -o "$$built" || exit; export WEFT_BUILT="$$built"; }; \
		export GOGC=300 GALLIVM_PERF=nopt WEFT_TABLE="$$rows"; echo "$(TEST) ./..."; \
		nice -n 5 $(TEST) -p 4 $(OTHERS) & others=$$!; \
		$(TEST) -p 2 $(PAGES); code=$$?; \
		wait $$others || code=$$?; wait $$cogentcore || code=$$?; cat "$$other"; \
		$(GO) run ./tests/table/print "$$rows"; exit $$code

# One program cannot link both GPU libraries, so this is a build of its own. It needs cgo.
test-cogentcore: compiler gpu
	$(GO) test -tags cogentcore -count=1 -v ./backends/webgpu ./runtime/webgpu/cogentcore | \
		sed -E '/^(=== | +--- PASS|error: XDG)/d'

# Pages and engine in headless Chromium, with WebGPU on the processor.
test-web: compiler browser firefox webkit
	WEFT_REQUIRE="$${WEFT_REQUIRE:+$$WEFT_REQUIRE,}CHROMIUM,FIREFOX,WEBKIT,TSC,BUNDLERS,FRAMEWORKS,WORKERD,AXE" $(GO) test -timeout 30m ./tests/browser ./tests/site ./tests/bundlers ./tests/firefox ./tests/webkit ./tests/saved ./tests/worker ./wasm

test-arm:
	@GO=$(GO) sh .ci/arm

fuzz: TIME ?= 10m
fuzz: compiler gpu
	$(GO) run ./tests/fuzz/long -time "$(TIME)" -seed "$(SEED)" -devices "$(DEVICES)" -out fuzz-findings

# Two parts at a time: while one links or waits for a last package, the other keeps the second core busy. Most of the time is the compiler's, which
# is a sixth faster where the collector runs less often. What a part prints comes
# when it is done.
check: compiler gpu
	@GOGC=300 $(MAKE) --no-print-directory -j 2 -Otarget fmt vet cross race nocgo staticcheck parsers

# Every fuzz target of a parser, eight at a time, each in one process. What it finds becomes a file in testdata/fuzz. Each begins with what was found
# before: the corpora of testdata/fuzz, and what Go's cache has.
# Files of models and data, which come from anywhere: FILETIME each in make check.
FILETIME ?= 10s
FILES = onnx:FuzzRead weights/gguf:FuzzParse safetensors:FuzzParse weights/pytorch:FuzzParse weights/pytorch:FuzzPickle weights/numpy:FuzzParse \
	weights/llama2c:FuzzParse weights:FuzzIndex tokenizer:FuzzJSON tokenizer:FuzzLlama2c tokenizer:FuzzPattern saved:FuzzDecode saved:FuzzRead \
	tensor:FuzzLoad data:FuzzIDX llm/chat:FuzzTemplate
# What Weft's own parts write for each other, what a program or its user says, and requests: a thousand inputs each in make
# check, which takes about a second and stays as many on a busy machine.
PARSERS = $(FILES) engine/search:FuzzChoices plan:FuzzCheck plan/packed:FuzzSteps plan/wasmmod:FuzzJoin plan/bytecode:FuzzParse \
	codegen:FuzzParseDirectives engine/choose:FuzzBook backends:FuzzSettings wasm/wire:FuzzReader wasm:FuzzSpeak wasm:FuzzRequests \
	cmd/weft:FuzzAnswer viz:FuzzRead llm/grammar:FuzzSchema llm/grammar:FuzzGBNF llm/serve:FuzzRequest \
	examples/worker:FuzzJSON

fuzz-parsers: TIME ?= 60s
parsers fuzz-parsers:
	@for p in $(PARSERS); do case " $(FILES) " in *" $$p "*) echo $$p $(or $(TIME),$(FILETIME)) ;; *) echo $$p $(or $(TIME),1000x) ;; esac; done | \
		GO=$(GO) xargs -P 8 -L 1 sh .ci/fuzz

bench: compiler gpu
	$(GO) run ./cmd/weft bench

tune-report: compiler gpu
	$(GO) run ./cmd/weft tune report $(TUNE) $(ONLY)

# Weft in Chromium beside onnxruntime-web, TensorFlow.js, jax-js and WGSL by hand. ONLY=matmul measures less.
bench-web:
	$(GO) run ./tests/webbench -only "$(ONLY)"

# Weft on the CPU beside PyTorch, JAX and ONNX Runtime. A whole run writes docs/performance.md; ONLY=products measures less.
bench-peers: compiler
	$(GO) run ./tests/peers $(if $(ONLY),-only "$(ONLY)",-write docs)

# Networks and operations drawn at random beside PyTorch, which make bench-peers installs.
hunt: compiler
	$(GO) run ./tests/hunt -seed $(SEED) -networks 40
	$(GO) run ./tests/hunt -seed $(SEED) -networks 20 -large
	$(GO) run ./tests/hunt -seed $(SEED) -operations 3 -only "$(ONLY)"

# Weft on WEBGPU beside PyTorch with CUDA, on a machine that has an NVIDIA processor. A whole run writes docs/performance-gpu.md.
bench-gpu: compiler gpu
	$(GO) run ./tests/peers -gpu $(if $(ONLY),-only "$(ONLY)",-write docs)

# The engine for browsers and its scripts alone.
wasm:
	$(GO) run ./wasm/pack -o bin/wasm -measure

npm:
	$(GO) run ./wasm/npm -o bin/npm

site:
	@rm -rf site/dist && mkdir -p site/dist
	@find site -mindepth 1 -maxdepth 1 ! -name dist ! -name '*.go' -exec cp -R {} site/dist/ ';'
	@sh .ci/models "$(or $(WEFT_DATA),../shared/data)/models" site/dist/models
	@mnist="$(or $(WEFT_DATA),../shared/data)/mnist"; [ -d "$$mnist" ] || mnist=; $(GO) run ./examples/elements -mnist "$$mnist" site/dist/elements/models
	$(GO) run ./wasm/pack -o site/dist -measure
	@$(GO) run ./wasm/serve -weigh site/dist

serve: site
	$(GO) run ./wasm/serve -port $(PORT) site/dist

kernels: compiler gpu
	@test -n "$(DIR)" || { echo "say where to: make kernels DIR=folder" >&2; exit 2; }
	mkdir -p "$(DIR)"
	WEFT_KERNELS="$(abspath $(DIR))" $(GO) test -count=1 $$($(GO) list ./... | grep -vE '/tests/(browser|site|bundlers)$$')

# The cases of the conformance suite and those recorded from PyTorch, on every device there is.
table: compiler gpu browser
	@rows=$$(mktemp) && trap 'rm -f "$$rows"' EXIT; export WEFT_TABLE="$$rows"; code=0; \
		WEFT_EACH=1 $(GO) test -count=1 -timeout 60m ./tests/devicetest || code=$$?; \
		WEFT_DEVICES=CPU,WASM,INTERP,WEBGPU $(GO) test -count=1 -timeout 30m ./tests/torchops || code=$$?; \
		WEFT_DEVICES=CPU,WASM,INTERP,WEBGPU $(GO) test -count=1 -timeout 30m ./tests/onnxnode || code=$$?; \
		WEFT_EACH=1 $(GO) test -count=1 -timeout 30m -run 'Inside|EveryMethod' ./tests/browser || code=$$?; \
		$(GO) run ./tests/table/print "$$rows"; exit $$code

shaders: compiler gpu browser
	@sh .ci/naga
	$(GO) run ./tests/shaders

fmt:
	@bad=$$(gofmt -l .); test -z "$$bad" || { printf 'not formatted (gofmt -w):\n%s\n' "$$bad" >&2; exit 1; }

vet:
	$(GO) vet ./...
	$(GO) vet -tags cogentcore ./runtime/webgpu/... ./backends/... ./cmd/...

# A release of its own version, so that no program that imports Weft depends on it.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
staticcheck:
	$(GO) run $(STATICCHECK) ./...

# The packages with goroutines or locks; of those of which few tests start goroutines, these tests: of tensor and the command those of what has locks
# too, of onnx, nodes and files of weights no others. The race detector needs cgo.
race:
	CGO_ENABLED=1 $(GO) test -race -short -vet=off $$(grep -lE --include='*.go' -r 'sync\.(Mutex|RWMutex|WaitGroup|Once\b|Map|Cond|Pool)|go func|\.Go\(' . \
		| grep -vE '^./(tests|tensor|cmd|wasm/pack|onnx|uop|weights)/|/testdata/' | xargs -n1 dirname | sort -u)
	CGO_ENABLED=1 $(GO) test -race -short -vet=off -run 'Goroutines|Generations|Dropped' ./onnx ./uop ./weights/numpy
	CGO_ENABLED=1 $(GO) test -race -short -vet=off -run 'Interrupt|Serve' ./cmd/weft
	CGO_ENABLED=1 $(GO) test -race -short -vet=off -run 'Jit|File|Generator|Backward|Assign|Goroutines' ./tensor
	CGO_ENABLED=1 $(GO) test -race -vet=off -run 'Server|Others|Wait|Shared|InUse|AtOnce|Twice' ./tests ./tests/capture

# Without cgo there is no GPU library, and calls into compiled kernels go another way. The short tests of what loads and
# calls kernels and opens devices pass, those of programs with several threads, faults and other modules, and the recorded cases on the CPU. Other
# packages call what these do; cross checks everything without cgo, and a test of make test trains with a command that has none.
NOCGO = ./runtime/... ./backends/... ./tests/capture ./tests/faults ./tests/consumer
nocgo:
	CGO_ENABLED=0 WEFT_REQUIRE="$$(echo "$${WEFT_REQUIRE:-}" | sed 's/WEBGPU//')" $(GO) test -vet=off -short -timeout 30m $(NOCGO)
	CGO_ENABLED=0 WEFT_DEVICES=CPU $(GO) test -vet=off -timeout 30m ./tests/torchops

# The types of all packages and tests are checked for every platform: compiling them took ten minutes of processor time and says little more. What is
# written for one of them, or calls functions of its system, is linked with its tests for two, with an architecture and an executable format that this
# machine may not have; make test builds the engine of pages for js.
LINKED = atomicfile runtime/codecache runtime/native runtime/wasm
cross:
	$(GO) run ./tests/types $(PLATFORMS)
	for to in darwin/arm64 windows/amd64; do for p in $(LINKED); do \
		CGO_ENABLED=0 GOOS=$${to%/*} GOARCH=$${to#*/} $(GO) test -c -vet=off -o /dev/null ./$$p || exit; done; done

compiler:
	@sh .ci/compiler

gpu:
	@sh .ci/gpu

browser:
	@sh .ci/browser

firefox webkit:
	@sh .ci/browser $@
