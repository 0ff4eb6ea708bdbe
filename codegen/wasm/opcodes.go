package wasm

import "strings"

// code is one instruction's opcode: a byte, or a prefix (0xFC, 0xFD) and a number.
type code struct {
	prefix byte
	n      uint32
}

// opcodes are the instructions in use, by the names of the text format.
var opcodes = func() map[string]code {
	t := map[string]code{}
	row := func(prefix byte, first uint32, names string) {
		for i, n := range strings.Fields(names) {
			if n != "_" {
				t[n] = code{prefix, first + uint32(i)}
			}
		}
	}
	row(0, 0x02, "block loop if else")
	row(0, 0x0B, "end br br_if")
	row(0, 0x1A, "drop select")
	row(0, 0x20, "local.get local.set local.tee")
	row(0, 0x28, "i32.load i64.load f32.load f64.load i32.load8_s i32.load8_u i32.load16_s i32.load16_u")
	row(0, 0x34, "i64.load32_s i64.load32_u i32.store i64.store f32.store f64.store i32.store8 i32.store16")
	row(0, 0x41, "i32.const i64.const f32.const f64.const")
	row(0, 0x45, "i32.eqz i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u i32.ge_s i32.ge_u")
	row(0, 0x50, "i64.eqz i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u i64.ge_s i64.ge_u")
	row(0, 0x5B, "f32.eq f32.ne f32.lt f32.gt f32.le f32.ge f64.eq f64.ne f64.lt f64.gt f64.le f64.ge")
	row(0, 0x67, "i32.clz i32.ctz i32.popcnt i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u "+
		"i32.and i32.or i32.xor i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr")
	row(0, 0x79, "i64.clz i64.ctz i64.popcnt i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u "+
		"i64.and i64.or i64.xor i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr")
	row(0, 0x8B, "f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign")
	row(0, 0x99, "f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign")
	row(0, 0xA7, "i32.wrap_i64 _ _ _ _ i64.extend_i32_s i64.extend_i32_u _ _ _ _ f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s "+
		"f32.convert_i64_u f32.demote_f64 f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32 "+
		"i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64 i32.extend8_s i32.extend16_s")
	row(0xFC, 0, "i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u "+
		"i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u")
	const simd = 0xFD
	row(simd, 0x00, "v128.load _ _ v128.load16x4_s v128.load16x4_u _ _ _ _ v128.load32_splat v128.load64_splat v128.store v128.const i8x16.shuffle")
	row(simd, 0x0E, "i8x16.swizzle i8x16.splat i16x8.splat i32x4.splat i64x2.splat f32x4.splat f64x2.splat")
	row(simd, 0x1B, "i32x4.extract_lane i32x4.replace_lane i64x2.extract_lane i64x2.replace_lane f32x4.extract_lane f32x4.replace_lane "+
		"f64x2.extract_lane f64x2.replace_lane")
	row(simd, 0x37, "i32x4.eq i32x4.ne i32x4.lt_s i32x4.lt_u i32x4.gt_s i32x4.gt_u i32x4.le_s i32x4.le_u i32x4.ge_s i32x4.ge_u "+
		"f32x4.eq f32x4.ne f32x4.lt f32x4.gt f32x4.le f32x4.ge f64x2.eq f64x2.ne f64x2.lt f64x2.gt f64x2.le f64x2.ge "+
		"v128.not v128.and v128.andnot v128.or v128.xor v128.bitselect v128.any_true")
	row(simd, 0x59, "v128.store16_lane v128.store32_lane v128.store64_lane v128.load32_zero v128.load64_zero f32x4.demote_f64x2_zero f64x2.promote_low_f32x4")
	row(simd, 0x67, "f32x4.ceil f32x4.floor f32x4.trunc f32x4.nearest")
	row(simd, 0x74, "f64x2.ceil f64x2.floor")
	row(simd, 0x7A, "f64x2.trunc")
	row(simd, 0x94, "f64x2.nearest")
	row(simd, 0x87, "i16x8.extend_low_i8x16_s _ i16x8.extend_low_i8x16_u")
	row(simd, 0xA0, "i32x4.abs i32x4.neg")
	row(simd, 0xA7, "i32x4.extend_low_i16x8_s _ i32x4.extend_low_i16x8_u _ i32x4.shl i32x4.shr_s i32x4.shr_u i32x4.add _ _ i32x4.sub _ _ _ "+
		"i32x4.mul i32x4.min_s i32x4.min_u i32x4.max_s i32x4.max_u i32x4.dot_i16x8_s")
	row(simd, 0xC0, "i64x2.abs i64x2.neg")
	row(simd, 0xC7, "i64x2.extend_low_i32x4_s _ i64x2.extend_low_i32x4_u _ i64x2.shl i64x2.shr_s i64x2.shr_u i64x2.add _ _ i64x2.sub _ _ _ "+
		"i64x2.mul i64x2.eq i64x2.ne i64x2.lt_s i64x2.gt_s i64x2.le_s i64x2.ge_s")
	row(simd, 0xE0, "f32x4.abs f32x4.neg _ f32x4.sqrt f32x4.add f32x4.sub f32x4.mul f32x4.div f32x4.min f32x4.max f32x4.pmin f32x4.pmax")
	row(simd, 0xEC, "f64x2.abs f64x2.neg _ f64x2.sqrt f64x2.add f64x2.sub f64x2.mul f64x2.div f64x2.min f64x2.max f64x2.pmin f64x2.pmax")
	row(simd, 0xF8, "i32x4.trunc_sat_f32x4_s i32x4.trunc_sat_f32x4_u f32x4.convert_i32x4_s f32x4.convert_i32x4_u "+
		"i32x4.trunc_sat_f64x2_s_zero i32x4.trunc_sat_f64x2_u_zero f64x2.convert_low_i32x4_s f64x2.convert_low_i32x4_u")
	row(simd, 0x105, "f32x4.relaxed_madd f32x4.relaxed_nmadd f64x2.relaxed_madd f64x2.relaxed_nmadd")
	return t
}()
