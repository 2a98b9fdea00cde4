#include "textflag.h"

// func scan(halves *[width][2][16]byte, text *byte, n int) (at int, found bool)
//
// Each byte of a text is looked up in two tables, by its low and by its high half; what both have in common are the ways that allow
// it. 32 places are looked at at once.
TEXT ·scan(SB), NOSPLIT, $0-33
	MOVQ halves+0(FP), AX
	MOVQ text+8(FP), SI
	MOVQ n+16(FP), DX
	VBROADCASTI128 0(AX), Y0
	VBROADCASTI128 16(AX), Y1
	VBROADCASTI128 32(AX), Y2
	VBROADCASTI128 48(AX), Y3
	VBROADCASTI128 64(AX), Y4
	VBROADCASTI128 80(AX), Y5
	MOVQ $0x0f0f0f0f0f0f0f0f, BX
	VMOVQ BX, X6
	VPBROADCASTQ X6, Y6
	VPXOR Y7, Y7, Y7
	XORQ CX, CX
	SUBQ $34, DX // the last place from which 32 can be looked at, with the two bytes after them

next:
	CMPQ CX, DX
	JGT none
	VMOVDQU (SI)(CX*1), Y8
	VMOVDQU 1(SI)(CX*1), Y10
	VMOVDQU 2(SI)(CX*1), Y12
	VPSRLW $4, Y8, Y9
	VPSRLW $4, Y10, Y11
	VPSRLW $4, Y12, Y13
	VPAND Y6, Y8, Y8
	VPAND Y6, Y9, Y9
	VPAND Y6, Y10, Y10
	VPAND Y6, Y11, Y11
	VPAND Y6, Y12, Y12
	VPAND Y6, Y13, Y13
	VPSHUFB Y8, Y0, Y8
	VPSHUFB Y9, Y1, Y9
	VPSHUFB Y10, Y2, Y10
	VPSHUFB Y11, Y3, Y11
	VPSHUFB Y12, Y4, Y12
	VPSHUFB Y13, Y5, Y13
	VPAND Y8, Y9, Y8
	VPAND Y10, Y11, Y10
	VPAND Y12, Y13, Y12
	VPAND Y8, Y10, Y8
	VPAND Y8, Y12, Y8
	VPCMPEQB Y7, Y8, Y8
	VPMOVMSKB Y8, R8
	NOTL R8
	TESTL R8, R8
	JNZ hit
	ADDQ $32, CX
	JMP next

hit:
	BSFL R8, R8
	ADDQ R8, CX
	MOVQ CX, at+24(FP)
	MOVB $1, found+32(FP)
	VZEROUPPER
	RET

none:
	MOVQ CX, at+24(FP)
	MOVB $0, found+32(FP)
	VZEROUPPER
	RET
