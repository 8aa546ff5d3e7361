	.file	"<string>"
	.section	.rodata.cst8,"aM",@progbits,8
	.p2align	3, 0x0
.LCPI0_0:
	.quad	0x7fffffffffffffff
.LCPI0_1:
	.quad	0x3ff0000000000000
.LCPI0_2:
	.quad	0x8000000000000000
	.text
	.p2align	4
	.type	nest1,@function
nest1:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r12
	pushq	%rbx
	vmovddup	.LCPI0_0(%rip), %xmm5
	vmovsd	24(%rcx), %xmm4
	vmovsd	(%rcx), %xmm7
	vmovsd	48(%rcx), %xmm3
	vmovsd	.LCPI0_1(%rip), %xmm6
	vmovddup	.LCPI0_2(%rip), %xmm13
	vmovsd	8(%rcx), %xmm8
	vmovsd	32(%rcx), %xmm11
	vmovsd	56(%rcx), %xmm10
	movq	88(%rsp), %rdi
	movq	80(%rsp), %r10
	movq	72(%rsp), %r11
	movq	64(%rsp), %rbx
	movq	56(%rsp), %r14
	movq	48(%rsp), %r15
	vandpd	%xmm5, %xmm4, %xmm1
	vandpd	%xmm5, %xmm7, %xmm2
	vandpd	%xmm5, %xmm3, %xmm0
	vmovapd	%xmm8, %xmm12
	vucomisd	%xmm2, %xmm1
	vmovapd	%xmm7, %xmm2
	seta	%al
	kmovd	%eax, %k3
	vmovsd	%xmm4, %xmm2, %xmm2 {%k3}
	vandpd	%xmm5, %xmm2, %xmm1
	vucomisd	%xmm1, %xmm0
	vmovapd	%xmm2, %xmm0
	vxorpd	%xmm1, %xmm1, %xmm1
	seta	%al
	kmovd	%eax, %k1
	vmovsd	%xmm3, %xmm0, %xmm0 {%k1}
	vucomisd	%xmm1, %xmm0
	vmovsd	%xmm7, %xmm4, %xmm4 {%k3}
	vmovsd	%xmm2, %xmm3, %xmm3 {%k1}
	vmovapd	%xmm0, %xmm9
	vmovsd	%xmm11, %xmm12, %xmm12 {%k3}
	vmovsd	%xmm8, %xmm11, %xmm11 {%k3}
	vmovsd	64(%rcx), %xmm7
	vxorpd	%xmm3, %xmm13, %xmm3
	vxorpd	%xmm4, %xmm13, %xmm4
	vmovapd	%xmm12, %xmm2
	vmovsd	%xmm10, %xmm2, %xmm2 {%k1}
	vmovsd	%xmm12, %xmm10, %xmm10 {%k1}
	setnp	%dl
	sete	%al
	andb	%dl, %al
	kmovd	%eax, %k2
	vmovsd	%xmm6, %xmm9, %xmm9 {%k2}
	vdivsd	%xmm9, %xmm3, %xmm3
	vdivsd	%xmm9, %xmm4, %xmm4
	vmovsd	16(%rcx), %xmm9
	vmovapd	%xmm9, %xmm14
	vfmadd231sd	%xmm2, %xmm3, %xmm10
	vfmadd231sd	%xmm2, %xmm4, %xmm11
	vandpd	%xmm5, %xmm10, %xmm12
	vandpd	%xmm5, %xmm11, %xmm5
	vucomisd	%xmm5, %xmm12
	vmovapd	%xmm11, %xmm5
	vmovsd	40(%rcx), %xmm12
	movq	104(%rsp), %rcx
	seta	%dl
	kmovd	%edx, %k2
	vmovsd	%xmm10, %xmm5, %xmm5 {%k2}
	vmovsd	%xmm11, %xmm10, %xmm10 {%k2}
	vucomisd	%xmm1, %xmm5
	vmovapd	%xmm5, %xmm11
	vxorpd	%xmm13, %xmm10, %xmm10
	vmovsd	%xmm12, %xmm14, %xmm14 {%k3}
	vmovsd	%xmm9, %xmm12, %xmm12 {%k3}
	vmovapd	%xmm14, %xmm8
	vmovsd	%xmm7, %xmm8, %xmm8 {%k1}
	vmovsd	%xmm14, %xmm7, %xmm7 {%k1}
	vfmadd231sd	%xmm8, %xmm4, %xmm12
	vfmadd231sd	%xmm8, %xmm3, %xmm7
	setnp	%sil
	sete	%dl
	andb	%sil, %dl
	movq	96(%rsp), %rsi
	kmovd	%edx, %k4
	vmovsd	%xmm6, %xmm11, %xmm11 {%k4}
	vmovapd	%xmm12, %xmm9
	vmovsd	%xmm7, %xmm9, %xmm9 {%k2}
	vmovsd	%xmm12, %xmm7, %xmm7 {%k2}
	vmovapd	%xmm6, %xmm12
	vmovsd	%xmm1, %xmm12, %xmm12 {%k1}
	vdivsd	%xmm11, %xmm10, %xmm10
	vmovsd	%xmm6, %xmm6, %xmm11 {%k1} {z}
	vmovapd	%xmm11, %xmm14
	vfmadd213sd	%xmm1, %xmm4, %xmm14
	vfmadd231sd	%xmm11, %xmm3, %xmm12
	vmovapd	%xmm14, %xmm13
	vmovsd	%xmm12, %xmm13, %xmm13 {%k2}
	vmovsd	%xmm14, %xmm12, %xmm12 {%k2}
	vmovsd	%xmm6, %xmm6, %xmm14 {%k3} {z}
	vmovsd	%xmm1, %xmm6, %xmm6 {%k3}
	vmovapd	%xmm14, %xmm16
	vmovapd	%xmm6, %xmm17
	vmovsd	%xmm14, %xmm14, %xmm15 {%k1} {z}
	vmovsd	%xmm1, %xmm16, %xmm16 {%k1}
	vmovsd	%xmm6, %xmm6, %xmm18 {%k1} {z}
	vmovsd	%xmm1, %xmm17, %xmm17 {%k1}
	vfmadd231sd	%xmm16, %xmm4, %xmm6
	vfmadd231sd	%xmm16, %xmm3, %xmm15
	vfmadd231sd	%xmm3, %xmm17, %xmm18
	vfmadd213sd	%xmm14, %xmm17, %xmm4
	vmovapd	%xmm6, %xmm19
	vmovsd	%xmm15, %xmm19, %xmm19 {%k2}
	vmovsd	%xmm6, %xmm15, %xmm15 {%k2}
	vfmadd231sd	%xmm9, %xmm10, %xmm7
	vfmadd231sd	%xmm13, %xmm10, %xmm12
	vfmadd231sd	%xmm19, %xmm10, %xmm15
	vucomisd	%xmm1, %xmm7
	vmovapd	%xmm4, %xmm1
	vmovsd	%xmm18, %xmm1, %xmm1 {%k2}
	vmovsd	%xmm4, %xmm18, %xmm18 {%k2}
	vdivsd	%xmm7, %xmm12, %xmm6
	vdivsd	%xmm7, %xmm15, %xmm20
	vfmadd231sd	%xmm10, %xmm1, %xmm18
	setnp	%bpl
	sete	%r12b
	orb	%al, %dl
	vdivsd	%xmm7, %xmm18, %xmm3
	andb	%bpl, %r12b
	orb	%r12b, %dl
	xorb	$1, %dl
	movb	%dl, (%r8)
	vfnmadd231sd	%xmm6, %xmm9, %xmm13
	vfnmadd231sd	%xmm20, %xmm9, %xmm19
	vfnmadd231sd	%xmm6, %xmm8, %xmm11
	vfnmadd231sd	%xmm20, %xmm8, %xmm16
	vmovsd	%xmm6, (%r9)
	vdivsd	%xmm5, %xmm13, %xmm12
	vdivsd	%xmm5, %xmm19, %xmm15
	vfnmadd231sd	%xmm9, %xmm3, %xmm1
	vfnmadd231sd	%xmm8, %xmm3, %xmm17
	vdivsd	%xmm5, %xmm1, %xmm1
	vfnmadd231sd	%xmm12, %xmm2, %xmm11
	vfnmadd231sd	%xmm15, %xmm2, %xmm16
	vmovsd	%xmm12, (%r15)
	vdivsd	%xmm0, %xmm11, %xmm11
	vdivsd	%xmm0, %xmm16, %xmm16
	vfnmadd231sd	%xmm2, %xmm1, %xmm17
	vdivsd	%xmm0, %xmm17, %xmm0
	vmovsd	%xmm11, (%r14)
	vmovsd	%xmm20, (%rbx)
	vmovsd	%xmm15, (%r11)
	vmovsd	%xmm16, (%r10)
	vmovsd	%xmm3, (%rdi)
	vmovsd	%xmm1, (%rsi)
	vmovsd	%xmm0, (%rcx)
	popq	%rbx
	popq	%r12
	popq	%r14
	popq	%r15
	popq	%rbp
	retq
.Lfunc_end0:
	.size	nest1, .Lfunc_end0-nest1

	.p2align	4
	.type	nest2,@function
nest2:
	pushq	%rbp
	movq	%rsp, %rbp
	andq	$-64, %rsp
	subq	$64, %rsp
	vmovsd	(%rcx), %xmm0
	vmovsd	(%r9), %xmm1
	movq	16(%rbp), %rax
	movb	$7, %cl
	vmovhpd	(%r8), %xmm0, %xmm0
	kmovd	%ecx, %k1
	vinsertf128	$1, %xmm1, %ymm0, %ymm0
	vmovupd	%ymm0, (%rax) {%k1}
	movq	%rbp, %rsp
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end1:
	.size	nest2, .Lfunc_end1-nest2

	.p2align	4
	.type	nest3,@function
nest3:
	pushq	%rbp
	movq	%rsp, %rbp
	andq	$-64, %rsp
	subq	$64, %rsp
	vmovsd	(%rcx), %xmm0
	vmovsd	(%r9), %xmm1
	movq	16(%rbp), %rax
	movb	$7, %cl
	vmovhpd	(%r8), %xmm0, %xmm0
	kmovd	%ecx, %k1
	vinsertf128	$1, %xmm1, %ymm0, %ymm0
	vmovupd	%ymm0, (%rax) {%k1}
	movq	%rbp, %rsp
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end2:
	.size	nest3, .Lfunc_end2-nest3

	.section	.rodata.cst8,"aM",@progbits,8
	.p2align	3, 0x0
.LCPI3_0:
	.quad	0x7fffffffffffffff
.LCPI3_1:
	.quad	0x4033687a9f1af2b1
.LCPI3_2:
	.quad	0xbfe0000000000000
.LCPI3_3:
	.quad	0x3ff71547652b82fe
.LCPI3_4:
	.quad	0x4338000000000000
.LCPI3_5:
	.quad	0xc338000000000000
.LCPI3_6:
	.quad	0xbfe62e42ff000000
.LCPI3_7:
	.quad	0x3dc718432a1b0e26
.LCPI3_8:
	.quad	0x3e594dbc6fe951f5
.LCPI3_9:
	.quad	0x3ec71ba725753a1c
.LCPI3_10:
	.quad	0x3f2a019efcc93284
.LCPI3_11:
	.quad	0x3f81111110f7eb86
.LCPI3_12:
	.quad	0x3fc5555555555468
.LCPI3_13:
	.quad	0x3e28aa6d9133275a
.LCPI3_14:
	.quad	0x3e929953c6a329b1
.LCPI3_15:
	.quad	0x3efa01bf234ccab3
.LCPI3_16:
	.quad	0x3f56c16c1d70cc88
.LCPI3_17:
	.quad	0x3fa555555555c2ed
.LCPI3_18:
	.quad	0x3fe0000000000001
.LCPI3_19:
	.quad	4607182418800017408
.LCPI3_20:
	.quad	0xbff0000000000000
.LCPI3_21:
	.quad	0x4000000000000000
.LCPI3_22:
	.quad	0x3fd5c28f5c28f5c3
	.text
	.p2align	4
	.type	nest5,@function
nest5:
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%rbx
	andq	$-64, %rsp
	subq	$64, %rsp
	vbroadcastsd	.LCPI3_1(%rip), %ymm0
	vbroadcastsd	.LCPI3_2(%rip), %ymm1
	vbroadcastsd	.LCPI3_3(%rip), %ymm2
	vbroadcastsd	.LCPI3_4(%rip), %ymm3
	vbroadcastsd	.LCPI3_5(%rip), %ymm4
	vbroadcastsd	.LCPI3_6(%rip), %ymm5
	vbroadcastsd	.LCPI3_7(%rip), %ymm6
	vbroadcastsd	.LCPI3_8(%rip), %ymm7
	vbroadcastsd	.LCPI3_9(%rip), %ymm8
	vbroadcastsd	.LCPI3_10(%rip), %ymm9
	vbroadcastsd	.LCPI3_11(%rip), %ymm10
	vbroadcastsd	.LCPI3_12(%rip), %ymm11
	vbroadcastsd	.LCPI3_13(%rip), %ymm12
	vbroadcastsd	.LCPI3_14(%rip), %ymm13
	vbroadcastsd	.LCPI3_15(%rip), %ymm14
	vbroadcastsd	.LCPI3_16(%rip), %ymm15
	vbroadcastsd	.LCPI3_17(%rip), %ymm16
	vbroadcastsd	.LCPI3_18(%rip), %ymm18
	vbroadcastsd	.LCPI3_20(%rip), %ymm20
	vbroadcastsd	.LCPI3_21(%rip), %ymm21
	vbroadcastsd	.LCPI3_22(%rip), %ymm22
	vbroadcastsd	.LCPI3_0(%rip), %ymm17
	vpbroadcastq	.LCPI3_19(%rip), %ymm19
	movq	24(%rbp), %rax
	movq	16(%rbp), %rdx
	movb	$7, %r10b
	addq	$-48, %r9
	xorl	%esi, %esi
	vxorpd	%xmm23, %xmm23, %xmm23
	xorl	%r11d, %r11d
	kmovd	%r10d, %k1
	jmp	.LBB3_1
	.p2align	4
.LBB3_8:
	vandpd	%ymm17, %ymm24, %ymm25
	vmovapd	%ymm1, %ymm27
	vmovapd	%ymm12, %ymm30
	vmovapd	%ymm7, %ymm29
	incq	%r11
	vminpd	%ymm25, %ymm0, %ymm25
	vaddpd	%ymm25, %ymm25, %ymm26
	vcmpltpd	%ymm22, %ymm25, %k2
	vfmadd231pd	%ymm2, %ymm26, %ymm27
	vaddpd	%ymm3, %ymm27, %ymm27
	vaddpd	%ymm4, %ymm27, %ymm28
	vpsllq	$52, %ymm27, %ymm27
	vpaddq	%ymm19, %ymm27, %ymm27
	vfmadd231pd	%ymm5, %ymm28, %ymm26
	vfmadd231pd	%ymm6, %ymm28, %ymm26
	vmulpd	%ymm26, %ymm26, %ymm28
	vfmadd213pd	%ymm13, %ymm28, %ymm30
	vfmadd213pd	%ymm8, %ymm28, %ymm29
	vfmadd213pd	%ymm14, %ymm28, %ymm30
	vfmadd213pd	%ymm9, %ymm28, %ymm29
	vfmadd213pd	%ymm15, %ymm28, %ymm30
	vfmadd213pd	%ymm10, %ymm28, %ymm29
	vfmadd213pd	%ymm16, %ymm28, %ymm30
	vfmadd213pd	%ymm11, %ymm28, %ymm29
	vfmadd213pd	%ymm18, %ymm28, %ymm30
	vfmadd231pd	%ymm29, %ymm26, %ymm30
	vaddpd	%ymm20, %ymm27, %ymm29
	vmulpd	%ymm30, %ymm28, %ymm28
	vaddpd	%ymm28, %ymm26, %ymm26
	vfmadd231pd	%ymm26, %ymm27, %ymm29
	vaddpd	%ymm21, %ymm29, %ymm26
	vdivpd	%ymm26, %ymm29, %ymm26
	vfnmadd213pd	%ymm28, %ymm26, %ymm29
	vfnmadd213pd	%ymm25, %ymm1, %ymm29
	vmovapd	%ymm29, %ymm26 {%k2}
	vpternlogq	$228, %ymm17, %ymm24, %ymm26
	vaddpd	%ymm23, %ymm26, %ymm24
	vmovupd	%ymm24, (%rax,%rsi) {%k1}
	addq	$24, %rsi
	cmpq	$72, %rsi
	je	.LBB3_9
.LBB3_1:
	kmovd	%r10d, %k2
	cmpq	$1, %r11
	je	.LBB3_4
	testq	%r11, %r11
	jne	.LBB3_5
	vmovupd	(%rcx), %ymm24 {%k2} {z}
	testb	$1, (%rdx)
	jne	.LBB3_8
	jmp	.LBB3_7
	.p2align	4
.LBB3_4:
	vmovupd	(%r8), %ymm24 {%k2} {z}
	testb	$1, (%rdx)
	jne	.LBB3_8
	jmp	.LBB3_7
	.p2align	4
.LBB3_5:
	vmovupd	(%r9,%rsi), %ymm24 {%k2} {z}
	testb	$1, (%rdx)
	jne	.LBB3_8
.LBB3_7:
	movq	(%rdi), %rbx
	cmpq	$1, %rbx
	adcq	$0, %rbx
	movq	%rbx, (%rdi)
	jmp	.LBB3_8
.LBB3_9:
	leaq	-8(%rbp), %rsp
	popq	%rbx
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end3:
	.size	nest5, .Lfunc_end3-nest5

	.globl	main
	.p2align	4
	.type	main,@function
main:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	pushq	%rax
	movq	8(%rdi), %rbx
	movq	32(%rdi), %rax
	movq	(%rdi), %r14
	movq	24(%rdi), %rcx
	movl	$1, %edx
	xorl	%esi, %esi
	leaq	128(%rbx), %rbp
	leaq	576(%rbx), %r12
	movq	%rax, (%rsp)
	leaq	64(%rbx), %r15
	leaq	256(%rbx), %r13
	leaq	320(%rbx), %r11
	leaq	384(%rbx), %r9
	leaq	448(%rbx), %rax
	leaq	512(%rbx), %r10
	movq	%r14, %rdi
	movq	%r12, %r8
	pushq	%rbp
	pushq	%r11
	movq	%r11, %rbp
	pushq	%r10
	pushq	%r15
	pushq	%r13
	pushq	%rax
	movq	%rax, %r13
	pushq	%rbx
	leaq	192(%rbx), %rax
	pushq	%rax
	callq	nest1
	addq	$56, %rsp
	leaq	640(%rbx), %rax
	movl	$1, %edx
	movq	%r14, %rdi
	xorl	%esi, %esi
	leaq	128(%rbx), %rcx
	movq	%r15, %r8
	movq	%rbx, %r9
	pushq	%rax
	callq	nest2
	addq	$8, %rsp
	movl	$1, %edx
	movq	%r14, %rdi
	xorl	%esi, %esi
	movq	%rbp, %rcx
	leaq	256(%rbx), %r8
	leaq	192(%rbx), %r9
	pushq	%rbx
	callq	nest3
	addq	$8, %rsp
	movl	$1, %edx
	movq	%r14, %rdi
	xorl	%esi, %esi
	leaq	512(%rbx), %rcx
	movq	%r13, %r8
	leaq	384(%rbx), %r9
	pushq	%r15
	callq	nest3
	addq	$16, %rsp
	movl	$1, %edx
	movq	%r14, %rdi
	xorl	%esi, %esi
	leaq	640(%rbx), %rcx
	movq	%rbx, %r8
	movq	%r15, %r9
	pushq	(%rsp)
	pushq	%r12
	callq	nest5
	addq	$24, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	retq
.Lfunc_end4:
	.size	main, .Lfunc_end4-main

	.globl	entry
	.p2align	4
	.type	entry,@function
entry:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	pushq	%rax
	movq	24(%rdi), %rax
	movq	16(%rax), %r14
	movq	%rdx, %rax
	xorq	$1, %rax
	orq	%rcx, %rax
	jne	.LBB5_13
	movq	(%rsi), %r8
	movq	40(%r14), %rax
	cmpq	%rax, 8(%r8)
	je	.LBB5_2
.LBB5_13:
	movq	32(%rdi), %rdi
	movq	72(%r14), %rax
	addq	$8, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	jmpq	*%rax
.LBB5_2:
	cmpl	$3, 24(%r8)
	jne	.LBB5_13
	movl	$1281, %r9d
	andl	64(%r8), %r9d
	cmpl	$1281, %r9d
	jne	.LBB5_13
	movq	56(%r8), %r9
	movabsq	$-4278255616, %r10
	andq	24(%r9), %r10
	movabsq	$51543605248, %r9
	cmpq	%r9, %r10
	jne	.LBB5_13
	movq	32(%r8), %r9
	cmpq	$1, (%r9)
	jne	.LBB5_13
	cmpq	$3, 8(%r9)
	jne	.LBB5_13
	cmpq	$3, 16(%r9)
	jne	.LBB5_13
	movq	16(%r8), %r15
	movq	%rdi, (%rsp)
	movq	%rsi, %r12
	movq	%rdx, %r13
	movq	%rcx, %rbp
	subq	$8, %rsp
	leaq	.Lentry_shape0(%rip), %rdx
	movq	%rax, %rdi
	movl	$2, %esi
	movl	$12, %ecx
	xorl	%r8d, %r8d
	xorl	%r9d, %r9d
	pushq	$0
	pushq	$0
	pushq	$0
	callq	*168(%r14)
	addq	$32, %rsp
	testq	%rax, %rax
	je	.LBB5_9
	movq	%r15, 520(%r14)
	movq	%rax, %rbx
	leaq	496(%r14), %rdi
	movq	16(%rax), %rax
	movq	%rax, 528(%r14)
	movq	376(%r14), %rsi
	callq	main@PLT
	cmpq	$0, 432(%r14)
	je	.LBB5_10
	movq	%rbx, %rdi
	movq	$0, 432(%r14)
	callq	*88(%r14)
	movq	(%rsp), %rdi
	movq	%rbp, %rcx
	movq	%r13, %rdx
	movq	%r12, %rsi
	jmp	.LBB5_13
.LBB5_9:
	xorl	%edi, %edi
	xorl	%ebx, %ebx
	callq	*88(%r14)
.LBB5_10:
	movq	%rbx, %rax
	addq	$8, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	retq
.Lfunc_end5:
	.size	entry, .Lfunc_end5-entry

	.type	.Lentry_shape0,@object
	.section	.rodata.cst16,"aM",@progbits,16
	.p2align	3, 0x0
.Lentry_shape0:
	.quad	3
	.quad	3
	.size	.Lentry_shape0, 16

	.section	".note.GNU-stack","",@progbits
