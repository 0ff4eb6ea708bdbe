// What w.nn, its layers and w.optim take, as rows of the table: methods.js says how they are read. The rows of layers have the names of their
// classes.

export const layers = `
NN
– linear | inputs:size outputs:size {bias:flag dtype:dtype}
– bilinear | first:size second:size outputs:size {bias:flag dtype:dtype}
– conv1d conv2d conv3d convTranspose1d convTranspose2d convTranspose3d | inputs:size outputs:size size:ints {bias:flag dtype:dtype ...Conv}
– batchNorm | channels:size {eps:number momentum:number~ affine:flag tracked:flag dtype:dtype}
– layerNorm | shape:ints {eps:number affine:flag bias:flag dtype:dtype}
– rmsNorm | shape:ints {eps:number affine:flag dtype:dtype}
– groupNorm | groups:int(1..) channels:size {eps:number affine:flag dtype:dtype}
– instanceNorm | channels:size {eps:number affine:flag dtype:dtype}
– prelu | channels:size? {slope:number dtype:dtype}
– embedding | n:size size:size {dtype:dtype ...EmbeddingOptions}
– dropout | p:number(0..1)?
– lstm gru rnn | inputs:size hidden:size {layers:int(1..) bothWays:flag batchFirst:flag dropout:number(0..1) bias:flag projection:size dtype:dtype}
– multiheadAttention | size:size heads:int(1..) {dropout:number(0..1) batchFirst:flag bias:flag dtype:dtype}
– transformerLayer | size:size heads:int(1..) wide:size {decoder:flag normFirst:flag activation:activation dropout:number(0..1) batchFirst:flag bias:flag dtype:dtype}
Layer
– linear conv convTranspose batchNorm layerNorm rmsNorm groupNorm instanceNorm prelu dropout | x:tensor context:Context?
– bilinear | x:tensor y:tensor context:Context?
– embedding | ids:tensor context:Context?
– recurrent | x:tensor context:States?
– multiheadAttention | query:tensor key:tensor? value:tensor? options:Weighing?
– transformerLayer | x:tensor options:Blocking?
Optim
– constant | rate:number factor:number steps:real
– stepDecay | rate:number size:number gamma:number?
– multiStep | rate:number milestones:list gamma:number?
– exponential | rate:number gamma:number
– linearRamp | rate:number start:number end:number steps:number
– polynomial | rate:number steps:number power:number?
– cosineAnnealing | rate:number steps:number least:number?
– cosineRestarts | rate:number first:number mult:number? least:number?
– oneCycle | options:OneCycle
– cyclic | options:Cyclic
– plateau | rate:number {factor:number patience:real threshold:number absolute:flag rising:flag cooldown:real least:number smallest:number}
– norm | grads:tensors
– clipByNorm clipByValue | grads:tensors max:real(0..)
Options
Context | training:flag
States | training:flag h:tensor~ c:tensor~
Attending | training:flag mask:tensor~ paddingMask:tensor~ causal:flag
Weighing | ...Attending weights:flag
Blocking | ...Attending memory:tensor~ memoryMask:tensor~ memoryPaddingMask:tensor~
OneCycle | max:number steps:number warm:number linear:flag div:number finalDiv:number threePhase:flag
Cyclic | base:number max:number up:number down:number halve:flag gamma:number
Words
activation | relu gelu geluTanh silu
`
