// What w.nn takes, as rows of the table: methods.js says how they are read.

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
Words
activation | relu gelu geluTanh silu
`
