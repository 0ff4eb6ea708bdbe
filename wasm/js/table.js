// Made by wasm/face from methods.txt: what every method takes, in the form that methods.js explains.

export const table = `
Tensor
a data item list shape dtype realize |
– dispose toString |
1 neg abs sign square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p |
1 add sub rsub mul div rdiv floorDiv truncDiv mod fmod pow rpow maximum minimum fmax fmin atan2 hypot copySign | y:operand
1 logAddExp logAddExp2 xlogy heaviside | y:operand
1 lerp | end:tensor weight:operand
1 clamp | low:operand~ high:operand~
1 addCMul addCDiv | a:tensor b:tensor {value:operand}
1 floor ceil round trunc frac |
1 roundTo | decimals:int
1 nanToNum | {nan:real posInf:real negInf:real}
1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh deg2Rad rad2Deg |
1 erf erfc erfInv lgamma digamma sinc |
1 logit | eps:number?
1 relu relu6 sigmoid logSigmoid silu gelu geluTanh quickGelu mish softsign hardSwish tanhShrink |
1 leakyRelu | slope:number?
1 selu | {alpha:number scale:number}
1 hardSigmoid | {alpha:number beta:number}
1 elu celu | alpha:number?
1 softplus | beta:number? threshold:number?
1 hardTanh | low:number? high:number?
1 hardShrink softShrink | limit:number?
1 threshold | limit:number value:number
1 prelu | w:tensor
1 rrelu | low:number? high:number?
1 glu | axis:int?
1 softmax logSoftmax softmin | axis:int?
1 dropout channelDropout | p:number(0..1)?
1 eq ne lt gt le ge | y:operand
1 isClose allClose | y:operand {rtol:number atol:number equalNaN:flag}
1 isNaN isInf isPosInf isNegInf isFinite signBit |
1 isIn | set:tensor
1 not |
1 logicalAnd logicalOr logicalXor | y:operand
1 and or xor shl shr | y:operand
1 bitNot |
1 where | x:operand y:operand
1 sum | axes:Sums?
1 prod | axes:Sums?
1 mean max min any all logSumExp nanSum nanMean countNonZero | axes:Axes?
1 var std | axes:Spread?
2 varMean stdMean | axes:Spread?
1 norm | p:real? axis:ints? keep:flag?
1 argMax argMin | axis:Axis?
2 maxIndex minIndex median nanMedian mode | axis:Axis?
2 kthValue | k:int(1..) axis:Axis?
1 quantile | q:fractions {axis:int interpolation:interpolation skipNaN:flag keep:flag}
1 normalize | {p:real eps:number axis:ints}
1 cumSum | axis:int? dtype:dtype?
1 cumProd | axis:int? dtype:dtype?
2 cumMax cumMin | axis:int?
1 logCumSumExp | axis:int?
1 trapezoid | {dx:number x:tensor axis:int}
1 cumulativeTrapezoid | {dx:number x:tensor axis:int}
1 diff | n:int(0..)? axis:int?
2 channelMoments | correction:number?
1 cov | {correction:number counts:tensor weights:tensor}
1 corrCoef |
1 histogram | edges:tensor weights:tensor?
1 histogramEdges | n:int(1..) {low:number high:number wide:flag}
1 binCount | {weights:tensor least:int(0..)}
3 unique | {axis:int runs:flag}
1 reshape | shape:lengths
1 expand | shape:lengths
1 shrinkTo padTo | shape:lengths
1 expandAs | y:tensor
1 permute | order:list
1 transpose | a:int? b:int?
1 t |
1 moveAxis | from:int to:int
1 flip squeeze | axis:ints?
1 unsqueeze | axis:int
1 flatten | span:ints?
1 unflatten | axis:int sizes:lengths
1 atLeast | rank:int(0..3)
1 shrink | low:list high:list
1 narrow | axis:int start:position n:position
1 pad | before:list after:list value:real? mode:padMode?
1 roll | by:ints axis:ints?
1 rot90 | {k:int first:int second:int}
1 repeat | counts:parts
1 rearrange einRepeat | formula:text {sizes:named}
1 einReduce | formula:text how:folding? {sizes:named}
1 repeatInterleave | n:size axis:int?
1 repeatEach | counts:tensor axis:int?
1 tril triu | diagonal:int?
1 diagonal | offset:int? first:int? second:int?
1 diag diagEmbed trace |
1 diagMatrix | {offset:int first:int second:int}
n split | axis:int sizes:parts
n splitAt | axis:int indices:list
n splitEvenly chunk | axis:int n:int(1..65536)
p splitEvery | axis:int n:int(1..)
p unbind | axis:int?
1 unfold | axis:int size:size step:int(1..)?
1 pixelShuffle pixelUnshuffle | r:int(1..)
1 channelShuffle | groups:int(1..)
1 vander | n:size rising:flag?
1 at | index:index*
1 withAt | value:operand index:index*
0 setAt | value:operand index:index*
1 select | axis:int index:int
1 gather indexSelect takeAlong | axis:int index:tensor
1 take | index:tensor
1 scatter scatterAdd | axis:int index:tensor source:operand
1 scatterReduce | axis:int index:tensor source:operand {how:merging includeSelf:flag}
1 indexReduce | axis:int index:tensor source:tensor {how:merging includeSelf:flag}
1 indexCopy | axis:int index:tensor source:tensor
1 indexAdd | axis:int index:tensor source:tensor {alpha:operand}
1 indexFill | axis:int index:tensor value:operand
1 indexPut | index:tensors values:tensor {add:flag}
1 maskedFill | mask:tensor value:operand
1 maskedScatter | mask:tensor source:tensor
1 maskedSelect | mask:tensor {size:int(0..) fill:operand}
1 nonZero | {size:int(0..) fill:int}
1 categorical | axis:int?
1 multinomial | n:int(1..) {replace:flag}
1 oneHot | n:int?
2 sort | axis:int? descending:flag?
1 argSort | axis:int? descending:flag?
2 topK | k:int(0..) axis:int? largest:flag?
1 searchSorted | values:tensor {right:flag}
1 matmul dot outer kron | w:tensor
1 linear | w:tensor b:tensor~
1 tensorDot | w:tensor axes:ints others:ints
1 cross | w:tensor axis:int?
1 cholesky inv det logDet singularValues matrixExp |
1 solve choleskySolve | b:tensor
1 solveTriangular | b:tensor {upper:flag unit:flag}
2 slogDet |
2 qr | {complete:flag}
3 svd | {full:flag}
2 eigh | {upper:flag}
1 pinv matrixRank | {atol:number rtol:number}
1 newtonSchulz | steps:int(0..)? {coefficients:reals eps:number}
1 matrixPower | n:int
1 matrixNorm | {kind:matrixNorm row:int column:int}
1 cond | kind:matrixNorm?
1 cdist | y:tensor p:real?
1 pairwiseDistance | y:tensor {p:real eps:number}
1 cosineSimilarity | y:tensor {axis:int eps:number}
1 fft ifft rfft irfft hfft ihfft | {n:int axis:int norm:fftNorm}
1 fftn ifftn rfftn irfftn | {sizes:ints axes:ints norm:fftNorm}
1 fftShift ifftShift | axis:ints?
1 conv2d | w:tensor b:tensor~ options:Conv?
1 convTranspose2d | w:tensor b:tensor~ options:Conv?
1 maxPool2d | size:ints options:Pool?
1 avgPool2d | size:ints options:Pool?
1 maxPool avgPool sumPool im2col | size:ints options:Pool?
1 lpPool | p:number size:ints options:Pool?
2 maxPoolIndex | size:ints options:Pool?
1 maxUnpool | indices:tensor size:ints {...Pool sizes:ints}
1 fold | sizes:ints size:ints options:Pool?
1 adaptiveAvgPool | sizes:ints
2 adaptiveMaxPool | sizes:ints
1 layerNorm | shape:ints~ w:tensor~ b:tensor~ eps:number(0..)? {axes:ints}
1 rmsNorm | shape:ints~ w:tensor~ eps:number(0..)? {axes:ints}
1 batchNorm | mean:tensor variance:tensor w:tensor~ b:tensor~ eps:number(0..)? {axes:ints}
1 groupNorm | groups:int(1..) w:tensor~ b:tensor~ eps:number(0..)?
1 instanceNorm | w:tensor~ b:tensor~ eps:number(0..)?
1 localResponseNorm | size:int(1..) {alpha:number beta:number k:number}
1 embedding | ids:tensor options:EmbeddingOptions?
1 embeddingBag | ids:tensor {offsets:tensor weights:tensor mode:bag ...EmbeddingOptions}
1 resize | sizes:ints options:Resizing?
1 gridSample | grid:tensor options:Sampling?
1 crossEntropy nll mse l1 bce bceWithLogits softMargin multiLabelSoftMargin | target:tensor options:Loss?
1 huber | target:tensor delta:number? options:Loss?
1 smoothL1 | target:tensor {beta:number ...Loss}
1 klDiv | target:tensor {logTarget:flag ...Loss}
1 poissonNll | target:tensor {logInput:flag full:flag eps:number ...Loss}
1 gaussianNll | target:tensor variance:tensor {full:flag eps:number ...Loss}
1 hingeEmbedding | target:tensor {margin:number ...Loss}
1 marginRanking cosineEmbedding | other:tensor target:tensor {margin:number ...Loss}
1 multiMargin | target:tensor {p:number margin:number ...Loss}
1 tripletMargin | positive:tensor negative:tensor {...Triplet ...Loss}
1 ctc | targets:tensor inputs:tensor lengths:tensor options:CtcOptions?
1 to bitcast unpack4 | dtype:dtype
1 contiguous contiguousBackward detach clone pack4 |
n grad | ws:tensors seed:tensor?
– backward | ws:tensors seed:tensor?
– gradient clearGradient |
0 assign | value:operand
0 addAssign subAssign mulAssign divAssign | value:operand
0 replace | y:tensor
1 hash |
1 keccak | kind:keccak?
1 threefry | key:operand
0 own |
a toImageData |
Weft
1 tensor | values:values shape:made? options:Made?
a fetch | url:url shape:sizes options:FetchOptions?
a fromImage | image:image options:ImageOptions?
1 full | shape:sizes value:scalar options:Made?
= zeros ones | shape:sizes options:Made?
1 empty | shape:sizes options:Made?
1 emptyLike zerosLike onesLike randLike randnLike | x:tensor
1 fullLike | x:tensor value:scalar
1 eye | n:size m:size? options:Made?
1 arange | start:stop stop:stop? step:number? options:Integers?
1 scalar | value:place
– variable | name:text low:int high:int
1 linspace | start:number stop:number n:size options:Made?
1 rand randn | shape:sizes options:Made?
1 randint | shape:sizes low:int high:int options:Integers?
1 uniform | shape:sizes low:number? high:number? options:Made?
1 normal | shape:sizes mean:number? std:number? options:Made?
1 scaledUniform glorotUniform | shape:sizes options:Made?
1 kaimingUniform kaimingNormal | shape:sizes slope:number? options:Made?
1 randPerm | n:size
1 randomBits | shape:sizes
1 bartlettWindow blackmanWindow hannWindow | n:size {periodic:flag ...Made}
1 hammingWindow | n:size {periodic:flag alpha:number beta:number ...Made}
1 fftFreq rfftFreq | n:size {d:number ...Made}
1 triangleIndices | rows:size columns:size {diagonal:int lower:flag}
1 affineGrid | theta:tensor sizes:sizes {alignCorners:flag}
1 complex | re:tensor im:tensor
1 cat stack | tensors:tensors axis:int?
1 hstack vstack dstack blockDiag cartesianProduct | tensors:tensors
1 uSum uProd | values:operands
n broadcast meshgrid meshgridXY | tensors:tensors
1 einsum | formula:text tensors:tensor*
1 attention | q:tensor k:tensor v:tensor options:Attention?
n recurrent | x:tensor weights:tensors options:RecurrentOptions?
a seed | n:int(0..4294967295)
a realize | tensors:tensor*
– capture | f:function
– jit | f:function options:JitOptions?
– grad valueAndGrad | f:function options:GradOptions?
a save | model:model options:SaveOptions?
a load | from:file model:model? options:LoadOptions?
a profile | f:function
a stats |
a inspect | text:text options:InspectOptions?
a onnx | source:any options:ModelOptions?
a llm | source:any options:LanguageOptions?
– close |
Captured
a run | inputs:input*
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
SaveOptions | metadata:any?
LoadOptions | strict:flag? signal:signal?
InspectOptions | target:targets?
OpenOptions | device:text? onprogress:function? checks:flag? search:int(0..64)? directives:text? whole:flag? models:flag? folder:url?
ModelOptions | onprogress:function? signal:signal?
LanguageOptions | length:int(2..)? chunk:int(1..)? onprogress:function? signal:signal?
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
