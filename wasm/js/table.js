// Made by wasm/face from methods.txt: what every method takes, in the form that methods.js explains.

export const table = `
Tensor
a data item list realize |
– dispose toString |
1 neg abs sign |
1 square | | as:counted
1 reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p | | as:float
1 add sub rsub mul maximum minimum fmax fmin | y:operand | wide
1 div rdiv atan2 hypot copySign | y:operand | wide:float
1 floorDiv truncDiv mod fmod | y:operand | wide:int
1 pow rpow | y:operand | wide
1 logAddExp logAddExp2 xlogy | y:operand | wide:float
1 heaviside | y:operand | wide
1 lerp | end:tensor weight:operand | wide:float
1 clamp | low:operand~ high:operand~ | wide
1 addCMul | a:tensor b:tensor {value:operand} | wide:scaled
1 addCDiv | a:tensor b:tensor {value:operand} | wide:ratio
1 floor ceil round trunc frac |
1 roundTo | decimals:int
1 nanToNum | {nan:real posInf:real negInf:real}
1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh deg2Rad rad2Deg | | as:float
1 erf erfc erfInv lgamma digamma sinc | | as:float
1 ndtr logNdtr i0 i0e i1 i1e | | as:float
2 frexp | | as:float as:i32
1 ldexp nextAfter | y:operand | wide:float
1 logit | eps:number? | as:float
1 relu relu6 |
1 sigmoid logSigmoid silu gelu geluTanh quickGelu mish softsign hardSwish tanhShrink | | as:float
1 leakyRelu | slope:number? | as:float
1 selu | {alpha:number scale:number} | as:float
1 hardSigmoid | {alpha:number beta:number} | as:float
1 elu celu | alpha:number? | as:float
1 softplus | beta:number? threshold:number? | as:float
1 hardTanh | low:number? high:number? | as:limited
1 hardShrink | limit:number? | as:int
1 softShrink | limit:number? | as:float
1 threshold | limit:number value:number
1 prelu | w:tensor | as:all
1 rrelu | low:number? high:number? | as:float
1 glu | axis:int? | half:float
1 softmax logSoftmax softmin | axis:int? | as:float
1 gumbelSoftmax | axis:int? {temperature:number hard:flag} | as:float
1 dropout channelDropout alphaDropout | p:number(0..1)? | as:dropped
1 eq ne lt gt le ge | y:operand | wide:bool
1 isClose | y:operand {rtol:number atol:number equalNaN:flag} | wide:bool
1 allClose | y:operand {rtol:number atol:number equalNaN:flag} | one:bool
1 isNaN isInf isPosInf isNegInf isFinite signBit | | as:bool
1 isIn | set:tensor | as:bool
1 not | | as:bool
1 logicalAnd logicalOr logicalXor | y:operand | wide:bool
1 and or xor shl shr | y:operand | wide
1 bitNot |
1 where | x:operand y:operand | wide:choice
1 sum | axes:Sums? | fold:sum
1 prod | axes:Sums? | fold:sum
1 mean logSumExp nanMean | axes:Axes? | fold:float
1 max min | axes:Axes? | fold
1 any all | axes:Axes? | fold:verdict
1 nanSum | axes:Axes? | fold:sum
1 countNonZero | axes:Axes? | fold:i32
1 var std | axes:Spread? | fold:float
2 varMean stdMean | axes:Spread? | fold:float fold:float
1 norm | p:real? axis:ints? keep:flag? | fold:float
1 argMax argMin | axis:Axis? | fold:i32
2 maxIndex minIndex median nanMedian mode | axis:Axis? | along along:i32
2 kthValue | k:int(1..) axis:Axis? | along along:i32
1 quantile | q:fractions {axis:int interpolation:interpolation skipNaN:flag keep:flag} | quantile
1 normalize | {p:real eps:number axis:ints} | as:float
1 cumSum | axis:int? dtype:dtype? | as:sum
1 cumProd | axis:int? dtype:dtype? | as:sum
2 cumMax cumMin | axis:int? | as as:i32
1 logCumSumExp | axis:int? | as:float
1 trapezoid | {dx:number x:tensor axis:int} | trapezoid:strips
1 cumulativeTrapezoid | {dx:number x:tensor axis:int} | strips:strips
1 renorm | p:real axis:int limit:number | as:float
1 diff | n:int(0..)? axis:int? | diff
2 channelMoments | correction:number? | channels:moments channels:moments
1 cov | {correction:number counts:tensor weights:tensor} | cov:cov
1 corrCoef | | cov:cov
1 histogram | edges:tensor weights:tensor? | edges
1 histogramEdges | n:int(1..) {low:number high:number wide:flag} | bins
1 binCount | {weights:tensor least:int(0..)} | told:weighed
3 unique | {axis:int runs:flag} | told inverse:i64 told:i64
1 reshape | shape:lengths | reshape
1 expand | shape:lengths | expand
1 shrinkTo padTo | shape:lengths | to
1 expandAs | y:tensor | like
1 permute | order:list | permute
1 transpose | a:int? b:int? | transpose
1 t | | transpose
1 moveAxis | from:int to:int | moveAxis
1 flip | axis:ints?
1 squeeze | axis:ints? | squeeze
1 unsqueeze | axis:int | unsqueeze
1 flatten | span:ints? | flatten
1 unflatten | axis:int sizes:lengths | unflatten
1 atLeast | rank:int(0..3) | atLeast
1 shrink | low:list high:list | shrink
1 narrow | axis:int start:position n:position | narrow
1 pad | before:list after:list value:real? mode:padMode? | pad
1 roll | by:ints axis:ints?
1 rot90 | {k:int first:int second:int} | rot90
1 repeat | counts:parts | repeat
1 rearrange einRepeat | formula:text {sizes:named} | formula
1 einReduce | formula:text how:folding? {sizes:named} | formula:folded
1 repeatInterleave | n:size axis:int? | times
1 repeatEach | counts:tensor axis:int? | told
1 tril triu | diagonal:int?
1 diagonal | offset:int? first:int? second:int? | diagonal
1 diag | | diag
1 diagEmbed | | diagEmbed
1 trace | | one:sum
1 diagMatrix | {offset:int first:int second:int} | diagMatrix
n split | axis:int sizes:parts | split
n splitAt | axis:int indices:list | splitAt
n splitEvenly | axis:int n:int(1..65536) | evenly
n chunk | axis:int n:int(1..65536) | chunk
n splitEvery | axis:int n:int(1..) | every
n unbind | axis:int? | unbind
1 unfold | axis:int size:size step:int(1..)? | unfold
1 pixelShuffle | r:int(1..) | shuffle
1 pixelUnshuffle | r:int(1..) | unshuffle
1 channelShuffle | groups:int(1..)
1 combinations | r:int(1..)? {repeat:flag} | combinations
1 vander | n:size rising:flag? | vander
1 at | index:index* | at
1 withAt | value:operand index:index*
0 setAt | value:operand index:index*
1 select | axis:int index:int | select
1 gather | axis:int index:tensor | index
1 indexSelect | axis:int index:tensor | picked
1 takeAlong | axis:int index:tensor | takeAlong
1 take | index:tensor | index
n unravelIndex | shape:list | unravelled
1 scatter scatterAdd | axis:int index:tensor source:operand
1 scatterReduce | axis:int index:tensor source:operand {how:merging includeSelf:flag}
1 indexReduce | axis:int index:tensor source:tensor {how:merging includeSelf:flag}
1 indexCopy | axis:int index:tensor source:tensor
1 indexAdd | axis:int index:tensor source:tensor {alpha:operand}
1 indexFill | axis:int index:tensor value:operand
1 indexPut | index:tensors values:tensor {add:flag}
1 maskedFill | mask:tensor value:operand | wide:own
1 maskedScatter | mask:tensor source:tensor | masked
1 maskedSelect | mask:tensor {size:int(0..) fill:operand} | some
1 nonZero | {size:int(0..) fill:int} | nonZero:i64
1 categorical | axis:int? | along:i32
1 bernoulli |
1 multinomial | n:int(1..) {replace:flag} | draws:i32
1 oneHot | n:int? | oneHot:i32
2 sort | axis:int? descending:flag? | as as:i32
1 argSort | axis:int? descending:flag? | as:i32
2 topK | k:int(0..) axis:int? largest:flag? | topK topK:i32
1 searchSorted | values:tensor {right:flag} | values:i32
1 matmul dot | w:tensor | matmul:all
1 outer | w:tensor | outer:all
1 kron | w:tensor | kron:all
1 linear | w:tensor b:tensor~ | linear:all
1 bilinear | y:tensor w:tensor b:tensor~ | bilinear:all
1 tensorDot | w:tensor axes:ints others:ints | tensorDot:all
1 cross | w:tensor axis:int? | wide
1 cholesky inv matrixExp |
1 det logDet | | batch
1 singularValues | | least
1 solve | b:tensor | solve
1 choleskySolve | b:tensor | solved
1 solveTriangular | b:tensor {upper:flag unit:flag} | solved
1 lstsq | b:tensor | lstsq
1 tensorSolve | b:tensor | tensorSolve
1 tensorInv | rows:int(1..) | tensorInv
2 slogDet | | batch batch
3 lu | | rowsSquare q r
2 qr | {complete:flag} | q r
3 svd | {full:flag} | left least right
2 eigh | {upper:flag} | row as
1 eigvalsh | {upper:flag} | row
1 pinv | {atol:number rtol:number} | turned
1 matrixRank | {atol:number rtol:number} | batch:i32
1 newtonSchulz | steps:int(0..)? {coefficients:reals eps:number}
1 matrixPower | n:int
1 matrixNorm | {kind:matrixNorm row:int column:int} | matrixNorm:matrixNorm
1 cond | kind:matrixNorm? | batch:float
1 cdist | y:tensor p:real? | cdist:float
1 pdist | p:real? | pdist:float
1 pairwiseDistance | y:tensor {p:real eps:number} | pairs:float
1 cosineSimilarity | y:tensor {axis:int eps:number} | cosine:floats
1 fft ifft | {n:int axis:int norm:fftNorm} | fft
1 rfft ihfft | {n:int axis:int norm:fftNorm} | rfft:float
1 irfft hfft | {n:int axis:int norm:fftNorm} | irfft
1 fftn ifftn | {sizes:ints axes:ints norm:fftNorm} | fft
1 rfftn | {sizes:ints axes:ints norm:fftNorm} | rfft:float
1 irfftn | {sizes:ints axes:ints norm:fftNorm} | irfft
1 fftShift ifftShift | axis:ints?
1 stft | n:int(1..) {...Frames} | stft:floated
1 istft | n:int(1..) {...Frames} | istft:floated
1 conv2d | w:tensor b:tensor~ options:Conv? | conv:all
1 convTranspose2d | w:tensor b:tensor~ options:Conv? | spread:all
1 maxPool2d | size:ints options:Pool? | plane
1 avgPool2d | size:ints options:Pool? | plane:float
1 maxPool | size:ints options:Pool? | pool
1 avgPool sumPool | size:ints options:Pool? | pool:float
1 im2col | size:ints options:Pool? | columns
1 lpPool | p:number size:ints options:Pool? | pool:float
2 maxPoolIndex | size:ints options:Pool? | pool pool:i32
1 maxUnpool | indices:tensor size:ints {...Pool sizes:ints} | unpool
1 fold | sizes:ints size:ints options:Pool? | fold2:sum
1 adaptiveAvgPool | sizes:ints | sized:float
2 adaptiveMaxPool | sizes:ints | sized sized:i32
1 layerNorm | shape:ints~ w:tensor~ b:tensor~ eps:number(0..)? {axes:ints} | as:floated
1 rmsNorm | shape:ints~ w:tensor~ eps:number(0..)? {axes:ints} | as:floated
1 batchNorm | mean:tensor variance:tensor w:tensor~ b:tensor~ eps:number(0..)? {axes:ints} | as:floated
1 groupNorm | groups:int(1..) w:tensor~ b:tensor~ eps:number(0..)? | as:floated
1 instanceNorm | w:tensor~ b:tensor~ eps:number(0..)? | as:floated
1 localResponseNorm | size:int(1..) {alpha:number beta:number k:number} | as:floated
1 embedding | ids:tensor options:EmbeddingOptions? | rowsOf
1 embeddingBag | ids:tensor {offsets:tensor weights:tensor mode:bag ...EmbeddingOptions} | bags
1 resize | sizes:ints options:Resizing? | sized:resized
1 gridSample | grid:tensor options:Sampling? | grid:floated
1 crossEntropy nll | target:tensor options:Loss? | classes:floated
1 mse l1 | target:tensor options:Loss? | loss:loss
1 bce bceWithLogits | target:tensor options:Loss? | loss:floated
1 softMargin | target:tensor options:Loss? | loss:lossFloat
1 multiLabelSoftMargin | target:tensor options:Loss? | rows:mixed
1 huber | target:tensor delta:number? options:Loss? | loss:lossFloat
1 smoothL1 | target:tensor {beta:number ...Loss} | loss:lossFloat
1 klDiv | target:tensor {logTarget:flag ...Loss} | loss:kl
1 poissonNll | target:tensor {logInput:flag full:flag eps:number ...Loss} | loss:mixed
1 gaussianNll | target:tensor variance:tensor {full:flag eps:number ...Loss} | gaussian:gaussian
1 hingeEmbedding | target:tensor {margin:number ...Loss} | loss:hinge
1 marginRanking | other:tensor target:tensor {margin:number ...Loss} | loss:lossFloat
1 cosineEmbedding | other:tensor target:tensor {margin:number ...Loss} | rows:pair
1 multiLabelMargin | target:tensor options:Loss? | rows:lossFloat
1 multiMargin | target:tensor {p:number margin:number ...Loss} | rows:lossFloat
1 tripletMargin | positive:tensor negative:tensor {...Triplet ...Loss} | triplet:triplet
1 ctc | targets:tensor inputs:tensor lengths:tensor options:CtcOptions? | ctc:floated
1 to | dtype:dtype
1 bitcast | dtype:dtype | bitcast
1 unpack4 | dtype:dtype | doubled
1 contiguous contiguousBackward detach clone |
1 pack4 | | halved:u8
n grad | ws:tensors seed:tensor? | grad:ws
– backward | ws:tensors~ seed:tensor?
– gradient clearGradient |
– requireGrad freeze requiresGrad |
0 assign | value:operand
0 addAssign subAssign mulAssign divAssign | value:operand
0 replace | y:tensor
1 hash | | hash:u8
1 keccak | kind:keccak? | bytes:u8
1 threefry | key:operand | wide
0 own |
a toImageData |
1 on | device:text
0 moveTo | device:text
1 shard | devices:texts axis:int~
0 shardTo | devices:texts axis:int~
1 shardLike | y:tensor
a devices cutAxis |
Weft
1 tensor | values:values shape:made? options:Made? | given:elements
a fetch | url:url shape:sizes options:FetchOptions?
a fromImage | image:image options:ImageOptions?
1 full | shape:sizes value:scalar options:Made? | given:f32
= zeros ones | shape:sizes options:Made?
1 empty | shape:sizes options:Made? | given:f32
1 emptyLike zerosLike onesLike | x:tensor | of:x
1 randLike randnLike | x:tensor | of:like
1 fullLike | x:tensor value:scalar | of:x
1 eye | n:size m:size? options:Made? | eye:f32
1 arange | start:stop stop:stop? step:number? options:Integers? | arange:i32
1 scalar | value:place | one:number
– variable | name:text low:int high:int
1 linspace | start:number stop:number n:size options:Made? | list:f32
1 rand randn | shape:sizes options:Made? | given:f32
1 randint | shape:sizes low:int high:int options:Integers? | given:i32
1 uniform | shape:sizes low:number? high:number? options:Made? | given:f32
1 normal | shape:sizes mean:number? std:number? options:Made? | given:f32
1 scaledUniform glorotUniform | shape:sizes options:Made? | given:f32
1 kaimingUniform kaimingNormal | shape:sizes slope:number? options:Made? | given:f32
1 randPerm | n:size | list:i32
1 randomBits | shape:sizes | given:u32
1 bartlettWindow blackmanWindow hannWindow | n:size {periodic:flag ...Made} | list:real
1 hammingWindow | n:size {periodic:flag alpha:number beta:number ...Made} | list:real
1 kaiserWindow | n:size {periodic:flag beta:number ...Made} | list:real
1 fftFreq | n:size {d:number ...Made} | list:real
1 rfftFreq | n:size {d:number ...Made} | half1:real
1 triangleIndices | rows:size columns:size {diagonal:int lower:flag} | triangle:i32
1 affineGrid | theta:tensor sizes:sizes {alignCorners:flag} | affine:theta
1 complex | re:tensor im:tensor | complex:parts
1 cat | tensors:tensors axis:int? | cat:first
1 stack | tensors:tensors axis:int? | stack:first
1 hstack | tensors:tensors | hstack:first
1 vstack | tensors:tensors | vstack:first
1 dstack | tensors:tensors | dstack:first
1 blockDiag | tensors:tensors | blocks:first
1 cartesianProduct | tensors:tensors | cartesian:first
1 uSum uProd | values:operands | merged:merged
n broadcast | tensors:tensors | broadcast:each
n meshgrid meshgridXY | tensors:tensors | mesh:each
1 einsum | formula:text tensors:tensor* | einsum:first
1 attention | q:tensor k:tensor v:tensor options:Attention? | attention:q
1 attentionWeights | q:tensor k:tensor options:Attention? | attentionWeights:q
n recurrent | x:tensor weights:tensors options:RecurrentOptions? | recurrent:recurrent
a seed | n:int(0..4294967295)
a realize | tensors:tensor*
– capture | f:function
– jit | f:function options:JitOptions?
– grad valueAndGrad | f:function options:GradOptions?
– vmap | f:function options:VmapOptions?
– scan | f:function carried:any inputs:any options:ScanOptions?
– jvp | f:function inputs:tensors tangents:any
– vjp | f:function inputs:tensor*
– checkpoint | f:function
– function | name:text f:function options:FunctionOptions?
= custom | name:text shape:sizes body:function inputs:tensors options:FunctionOptions?
– customUnsafe | name:text results:results inputs:tensors options:UnsafeOptions
– generator | seed:int(0..4294967295)
a save | model:model options:SaveOptions?
a load | from:file model:model? options:LoadOptions?
a saveFunctions | functions:functions
a loadFunctions loadCaptured | from:file options:SavedOptions?
a profile | f:function
a stats |
a inspect | text:text options:InspectOptions?
a onnx | source:files options:ModelOptions?
a llm | source:files options:LanguageOptions?
a kept |
a clearKept | address:url?
– close |
Captured
a run | inputs:input*
a save |
a export | options:ExportOptions?
– dispose |
Size
– plus minus | n:position
– times | k:int
– bind | value:int
Options
Axes | axis:ints? keep:flag?
Axis | axis:int? keep:flag?
Sums | axis:ints? keep:flag? dtype:dtype?
Spread | axis:ints? keep:flag? correction:number?
Made | dtype:dtype?
Integers | dtype:dtype?
Conv | stride:ints? padding:ints? dilation:ints? groups:int? outputPadding:ints? same:flag?
Pool | stride:ints? padding:ints? dilation:ints? axes:int? ceil:flag? excludePadding:flag? same:flag?
Loss | reduction:reduction? weight:tensor? ignore:ints? smoothing:number? posWeight:tensor? classAxis:int?
Frames | hop:int(0..)? window:tensor? uncentred:flag? zeroPadded:flag? normalized:flag? twoSided:flag? length:int(0..)?
Triplet | margin:number? p:number? eps:number? swap:flag?
CtcOptions | blank:int? reduction:reduction? zeroInfinity:flag?
Attention | mask:tensor? causal:flag? scale:number? dropout:number? grouped:flag?
EmbeddingOptions | padding:ints? maxNorm:number? normType:number? scaleByFreq:flag?
Resizing | mode:resizing? alignCorners:flag? antialias:flag? scales:reals?
Sampling | mode:resizing? padding:samplePadding? alignCorners:flag?
RecurrentOptions | kind:cell? layers:int(1..)? bothWays:flag? batchFirst:flag? dropout:number? biases:flag? h:tensor? c:tensor?
FetchOptions | dtype:dtype? offset:int(0..9007199254740991)? onprogress:function? signal:signal?
ImageOptions | channels:int(1..4)? dtype:dtype?
JitOptions | most:int(1..)?
GradOptions | argnums:ints?
VmapOptions | in:any? out:ints?
ScanOptions | back:flag? steps:int(0..)?
FunctionOptions | gradient:function?
UnsafeResult | shape:sizes? dtype:dtype?
UnsafeOptions | wgsl:text? threads:int(1..)? group:int(1..256)? same:function? gradient:function?
SaveOptions | metadata:any?
LoadOptions | strict:flag? signal:signal?
SavedOptions | signal:signal?
InspectOptions | target:targets?
ExportOptions | name:text? inputs:any? results:any? devices:any? weights:text? title:text?
OpenOptions | device:text? onprogress:function? checks:flag? search:int(0..64)? directives:text? whole:flag? models:flag? folder:url?
ModelOptions | onprogress:function? signal:signal? cache:flag? sha256:any?
LanguageOptions | length:int(2..)? chunk:int(1..)? onprogress:function? signal:signal? cache:flag? sha256:any?
Words
reduction | mean sum none batchMean
padMode | constant reflect replicate circular
interpolation | linear lower higher nearest midpoint
fftNorm | backward ortho forward
matrixNorm | frobenius nuclear rowSum leastRowSum columnSum leastColumn spectral leastValue
merging | last sum prod mean max min
bag | sum mean max
resizing | nearest nearestExact linear cubic area
samplePadding | zeros border reflection
cell | tanh relu lstm gru
folding | sum mean max min prod any all logSumExp
keccak | sha3_256 sha3_224 sha3_384 sha3_512 shake128 shake256
`
