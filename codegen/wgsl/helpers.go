package wgsl

import "sync"

// helpers are functions that kernels use; needs says which of them use others. Both are made when a kernel is first spelled, which is never in a page that
// computes on WebAssembly. They take both sides of a condition with & and
// |: && and || are branches, for which SwiftShader's compiler takes seconds where selects stand in each other.
var helpers = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"number":  "fn number(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) <= 0x7f800000u; }\n",
		"flip":    "fn flip(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ u[0].w); }\n",
		"hide":    "fn hide(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ u[0].z); }\n",
		"less":    "fn less(a: f32, b: f32) -> bool { return (a < b) & number(a) & number(b); }\n",
		"equal":   "fn equal(a: f32, b: f32) -> bool { return (a == b) & number(a) & number(b); }\n",
		"maximum": "fn maximum(a: f32, b: f32) -> f32 { return select(a, select(b, max(a, b), number(b)), number(a)); }\n",
		// quotient corrects what a processor of graphics divides, which multiplies with the inverse, so that 6/3 may be less than 2, and beyond
		// 2¹²⁶ the inverse is a denormal number, for some 0. By how many units in the last place it is off follows from the product of the
		// significands of quotient and divisor, which lies so near to that of the dividend that its last 32 bits tell: integers, because
		// compilers simplify what is 0 for real numbers. What is lost of a scaled dividend is less than any quotient.
		"quotient": `fn quotient(a: f32, b: f32) -> f32 {
	let s = select(1.0f, 0x1p-24f, abs(b) > 0x1p125f);
	let x = bitcast<u32>(a * s); let y = bitcast<u32>(b * s); let q = bitcast<u32>((a * s) / (b * s));
	let e = vec3<u32>(x >> 23u, y >> 23u, q >> 23u) & vec3<u32>(0xffu);
	let m = (y & 0x7fffffu) | 0x800000u;
	let d = bitcast<i32>(((q & 0x7fffffu) | 0x800000u) * m - (((x & 0x7fffffu) | 0x800000u) << ((e.x + 150u - e.y - e.z) & 31u)));
	let n = bitcast<u32>(i32(round(f32(d) / f32(m))));
	return bitcast<f32>(select(q, q - n, all(e - 1u < vec3<u32>(254u))));
}
`,
		"root": "fn root(x: f32) -> f32 { return select(x, select(sqrt(x), bitcast<f32>(u[0].y), x < 0.0f), number(x)); }\n",

		// to_half rounds to 16 bits, ties to even: the language lets its own conversions round either way and leaves open what
		// becomes of numbers that are too large. Below 2⁻¹⁴ the result is a multiple of 2⁻²⁴, the last place of 0.5.
		"to_half": `fn to_half(x: f32) -> f32 {
	let b = bitcast<u32>(x); let a = b & 0x7fffffffu;
	let large = select(a, bitcast<u32>(u[0].x), a <= 0x7f800000u);
	let normal = select((a + 0xfffu + ((a >> 13u) & 1u)) & 0xffffe000u, large, a >= 0x477ff000u);
	let small = f32(bitcast<u32>(bitcast<f32>(a) + 0.5f) - 0x3f000000u) * 0x1p-24f;
	return bitcast<f32>(select(normal, bitcast<u32>(small), a < 0x38800000u) | (b & 0x80000000u));
}
`,
		// half_bits are those of a number that is exact in 16 bits: packing is left to say what becomes of finite ones only
		// (SwiftShader makes NaN of infinity, and NaN of other bits of NaN).
		"half_bits": `fn half_bits(x: f32) -> u32 {
	let b = bitcast<u32>(x); let a = b & 0x7fffffffu;
	let special = ((b >> 16u) & 0x8000u) | 0x7c00u | ((b >> 13u) & 0x3ffu) | select(0u, 0x200u, a > 0x7f800000u);
	return select(pack2x16float(vec2<f32>(x, 0.0f)) & 0xffffu, special, a >= 0x7f800000u);
}
`,
		// subgroup_maximum compares as integers whose order is that of floats, with NaN above all.
		"subgroup_maximum": `fn subgroup_maximum(x: f32) -> f32 {
	let b = bitcast<u32>(x);
	let k = subgroupMax(select(select(b | 0x80000000u, ~b, b >= 0x80000000u), 0xffffffffu, !number(x)));
	return bitcast<f32>(select(~k, k & 0x7fffffffu, k >= 0x80000000u));
}
`,

		// fused multiplies and adds with one rounding, in integers: fma is allowed to round twice, and does on processors
		// without the instruction. The sum is formed in 64 bits, with what was shifted out kept in the last.
		"jam": `fn jam(a: vec2<u32>, n: u32) -> vec2<u32> {
	let s = shr_u64(a, min(n, 63u));
	let lost = (n > 63u) | any(shl64(s, min(n, 63u)) != a);
	return vec2<u32>(select(s.x, 0u, n > 63u) | select(0u, 1u, lost & any(a != vec2<u32>(0u))), select(s.y, 0u, n > 63u));
}
`,
		// rest is a·b + c where c is the rounded product with the other sign: halves of 12 bits multiply exactly, and what is
		// left of c after each is exact as well.
		"rest": `fn rest(a: f32, b: f32, c: f32) -> f32 {
	let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u); let al = a - ah;
	let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u); let bl = b - bh;
	return ((ah * bh + c) + ah * bl + al * bh) + al * bl;
}
`,
		"split": `fn split(b: u32) -> vec2<i32> {
	let m = b & 0x7fffffu;
	let z = countLeadingZeros(m | 1u) - 8u;
	let e = i32((b >> 23u) & 0xffu);
	return select(vec2<i32>(i32(m | 0x800000u), e - 150), vec2<i32>(i32(m << z), -149 - i32(z)), e == 0);
}
`,
		"fused": `fn fused(a: f32, b: f32, c: f32) -> f32 {
	let ba = bitcast<u32>(a); let bb = bitcast<u32>(b); let bc = bitcast<u32>(c);
	if (max(ba & 0x7fffffffu, bb & 0x7fffffffu) < 0x7f800000u && (bc & 0x7fffffffu) >= 0x7f800000u) { return c; }
	if (max(ba & 0x7fffffffu, bb & 0x7fffffffu) >= 0x7f800000u || (ba & 0x7fffffffu) == 0u || (bb & 0x7fffffffu) == 0u || (bc & 0x7fffffffu) == 0u) { return a * b + c; }
	let sa = split(ba); let sb = split(bb); let sc = split(bc);
	var p = shl64(mul64(vec2<u32>(u32(sa.x), 0u), vec2<u32>(u32(sb.x), 0u)), 14u);
	var q = shl64(vec2<u32>(u32(sc.x), 0u), 38u);
	let ep = sa.y + sb.y - 14; let eq = sc.y - 38;
	p = jam(p, u32(max(eq - ep, 0)));
	q = jam(q, u32(max(ep - eq, 0)));
	var sign = (ba ^ bb) & 0x80000000u;
	if (sign == (bc & 0x80000000u)) {
		p = add64(p, q);
	} else if (less_u64(p, q)) {
		p = add64(q, neg64(p));
		sign = sign ^ 0x80000000u;
	} else {
		p = add64(p, neg64(q));
	}
	if (all(p == vec2<u32>(0u))) { return 0.0f; }
	let z = select(countLeadingZeros(p.y), 32u + countLeadingZeros(p.x), p.y == 0u);
	p = shl64(p, z);
	let e = max(ep, eq) - i32(z) + 190;
	p = jam(p, u32(clamp(1 - e, 0, 64)));
	let w = p.y | select(0u, 1u, p.x != 0u);
	let up = select(0u, 1u, ((w & 0xffu) | ((w >> 8u) & 1u)) > 0x80u);
	let bits = (u32(max(e, 1) - 1) << 23u) + (w >> 8u) + up;
	return bitcast<f32>(select(bits, bitcast<u32>(u[0].x), (e >= 255) | (bits > 0x7f800000u)) | sign);
}
`,
		"extend": "fn extend(x: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(x), bitcast<u32>(x >> 31u)); }\n",
		"add64": `fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
	let l = a.x + b.x;
	return vec2<u32>(l, a.y + b.y + select(0u, 1u, l < a.x));
}
`,
		"neg64": "fn neg64(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(0u - a.x, ~a.y + select(0u, 1u, a.x == 0u)); }\n",
		"mul_high": `fn mul_high(a: u32, b: u32) -> u32 {
	let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
	let m = ah * bl + ((al * bl) >> 16u);
	let n = al * bh + (m & 0xffffu);
	return ah * bh + (m >> 16u) + (n >> 16u);
}
`,
		"mul64": "fn mul64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x * b.x, mul_high(a.x, b.x) + a.x * b.y + a.y * b.x); }\n",
		"less_u64": `fn less_u64(a: vec2<u32>, b: vec2<u32>) -> bool { return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x)); }
`,
		"less_i64": `fn less_i64(a: vec2<u32>, b: vec2<u32>) -> bool { return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) | ((a.y == b.y) & (a.x < b.x)); }
`,
		"max_u64": "fn max_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, less_u64(a, b)); }\n",
		"max_i64": "fn max_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, less_i64(a, b)); }\n",
		"shl64": `fn shl64(a: vec2<u32>, n: u32) -> vec2<u32> {
	let s = n & 31u;
	let c = select(a.x >> ((32u - s) & 31u), 0u, s == 0u);
	return select(vec2<u32>(a.x << s, (a.y << s) | c), vec2<u32>(0u, a.x << s), n >= 32u);
}
`,
		"shr_u64": `fn shr_u64(a: vec2<u32>, n: u32) -> vec2<u32> {
	let s = n & 31u;
	let c = select(a.y << ((32u - s) & 31u), 0u, s == 0u);
	return select(vec2<u32>((a.x >> s) | c, a.y >> s), vec2<u32>(a.y >> s, 0u), n >= 32u);
}
`,
		"shr_i64": `fn shr_i64(a: vec2<u32>, n: u32) -> vec2<u32> {
	let s = n & 31u;
	let c = select(a.y << ((32u - s) & 31u), 0u, s == 0u);
	let h = bitcast<u32>(bitcast<i32>(a.y) >> s);
	return select(vec2<u32>((a.x >> s) | c, h), vec2<u32>(h, bitcast<u32>(bitcast<i32>(a.y) >> 31u)), n >= 32u);
}
`,
		// Each step of div64 finds some 19 bits of the quotient, never too much; what is left after four is at most one
		// or two too little.
		"div64_step": `fn div64_step(qr: vec4<u32>, b: vec2<u32>, inverse: f32) -> vec4<u32> {
	let e = f32_to_u64(u64_to_f32(qr.zw) * inverse);
	return vec4<u32>(add64(qr.xy, e), add64(qr.zw, neg64(mul64(e, b))));
}
`,
		"div64_last": `fn div64_last(qr: vec4<u32>, b: vec2<u32>) -> vec4<u32> {
	return select(vec4<u32>(add64(qr.xy, vec2<u32>(1u, 0u)), add64(qr.zw, neg64(b))), qr, less_u64(qr.zw, b));
}
`,
		"divmod64": `fn divmod64(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
	let inverse = 0.999998f / u64_to_f32(b);
	var qr = vec4<u32>(0u, 0u, a);
	qr = div64_step(qr, b, inverse);
	qr = div64_step(qr, b, inverse);
	qr = div64_step(qr, b, inverse);
	qr = div64_step(qr, b, inverse);
	return div64_last(div64_last(qr, b), b);
}
`,
		"div64": "fn div64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return divmod64(a, b).xy; }\n",
		"mod64": "fn mod64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return divmod64(a, b).zw; }\n",
		"u64_to_f32": `fn u64_to_f32(a: vec2<u32>) -> f32 {
	let s = countLeadingZeros(a.y);
	let t = shl64(a, s & 31u);
	let w = u32_to_f32(t.y | select(0u, 1u, t.x != 0u)) * bitcast<f32>((159u - s) << 23u);
	return select(w, u32_to_f32(a.x), a.y == 0u);
}
`,
		// u32_to_f32 rounds once: the language leaves it open, and some machines convert 31 bits and add the last.
		"u32_to_f32": "fn u32_to_f32(x: u32) -> f32 { return f32(x >> 16u) * 65536.0f + f32(x & 0xffffu); }\n",
		"i64_to_f32": `fn i64_to_f32(a: vec2<u32>) -> f32 {
	let negative = bitcast<i32>(a.y) < 0;
	let x = u64_to_f32(select(a, neg64(a), negative));
	return select(x, -x, negative);
}
`,
		"f32_to_u64": `fn f32_to_u64(x: f32) -> vec2<u32> {
	let b = bitcast<u32>(x);
	let large = shl64(vec2<u32>((b & 0x7fffffu) | 0x800000u, 0u), ((b >> 23u) - 150u) & 63u);
	return select(large, vec2<u32>(u32(min(x, 4294967040.0f)), 0u), x < 4294967296.0f);
}
`,
		"f32_to_i64": `fn f32_to_i64(x: f32) -> vec2<u32> {
	let a = f32_to_u64(abs(x));
	return select(a, neg64(a), x < 0.0f);
}
`,
		"i64_to_index": `fn i64_to_index(a: vec2<u32>) -> i32 {
	let low = bitcast<i32>(a.x);
	return select(select(2147483647, i32(-2147483648), bitcast<i32>(a.y) < 0), low, bitcast<i32>(a.y) == (low >> 31u));
}
`,
		"u64_to_index": `fn u64_to_index(a: vec2<u32>) -> i32 { return select(2147483647, bitcast<i32>(a.x), (a.y == 0u) & (a.x < 0x80000000u)); }
`,
	}
})

var needs = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"less": {"number"}, "equal": {"number"}, "maximum": {"number"}, "root": {"number"},
		"subgroup_maximum": {"number"}, "jam": {"shl64", "shr_u64"}, "fused": {"split", "shl64", "mul64", "jam", "add64", "neg64", "less_u64"},
		"mul64": {"mul_high"}, "max_u64": {"less_u64"}, "max_i64": {"less_i64"},
		"div64_step": {"f32_to_u64", "u64_to_f32", "add64", "neg64", "mul64"}, "div64_last": {"less_u64", "add64", "neg64"},
		"divmod64": {"u64_to_f32", "div64_step", "div64_last"}, "div64": {"divmod64"}, "mod64": {"divmod64"},
		"u64_to_f32": {"shl64", "u32_to_f32"}, "i64_to_f32": {"u64_to_f32", "neg64"}, "f32_to_u64": {"shl64"}, "f32_to_i64": {"f32_to_u64", "neg64"},
	}
})
