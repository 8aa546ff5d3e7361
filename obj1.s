	.file	"<string>"
	.text
	.p2align	4
	.type	sleep,@function
sleep:
	pushq	%rbp
	pushq	%r14
	pushq	%rbx
	lock		incl	(%rdx)
	movq	%rdx, %rbx
	movl	%esi, %ebp
	movq	%rdi, %r14
	.p2align	4
.LBB0_1:
	movl	$202, %edi
	movl	$128, %edx
	movq	%r14, %rsi
	movl	%ebp, %ecx
	xorl	%r8d, %r8d
	xorl	%eax, %eax
	callq	syscall@PLT
	movl	(%r14), %eax
	cmpl	%ebp, %eax
	je	.LBB0_1
	lock		decl	(%rbx)
	popq	%rbx
	popq	%r14
	popq	%rbp
	retq
.Lfunc_end0:
	.size	sleep, .Lfunc_end0-sleep

	.p2align	4
	.type	nap,@function
nap:
	pushq	%rax
	movq	%rdx, %r8
	movl	%esi, %ecx
	movq	%rdi, %rsi
	movl	$202, %edi
	movl	$128, %edx
	xorl	%eax, %eax
	callq	syscall@PLT
	popq	%rax
	retq
.Lfunc_end1:
	.size	nap, .Lfunc_end1-nap

	.p2align	4
	.type	wake,@function
wake:
	pushq	%rax
	movq	%rdi, %rsi
	movl	$202, %edi
	movl	$129, %edx
	movl	$2147483647, %ecx
	xorl	%eax, %eax
	callq	syscall@PLT
	popq	%rax
	retq
.Lfunc_end2:
	.size	wake, .Lfunc_end2-wake

	.globl	wengert_pause
	.p2align	4
	.type	wengert_pause,@function
wengert_pause:
	cmpq	$1, %rdi
	adcq	$0, %rdi
	.p2align	4
.LBB3_1:
	decq	%rdi
	pause
	jne	.LBB3_1
	retq
.Lfunc_end3:
	.size	wengert_pause, .Lfunc_end3-wengert_pause

	.p2align	4
	.type	clock,@function
clock:
	subq	$24, %rsp
	leaq	8(%rsp), %rsi
	movl	$1, %edi
	callq	clock_gettime@PLT
	imulq	$1000000000, 8(%rsp), %rax
	addq	16(%rsp), %rax
	addq	$24, %rsp
	retq
.Lfunc_end4:
	.size	clock, .Lfunc_end4-clock

	.p2align	4
	.type	leave,@function
leave:
	cmpl	$1023, %edi
	ja	.LBB5_4
	pushq	%rbx
	subq	$256, %rsp
	leaq	128(%rsp), %rdx
	movl	$128, %esi
	movl	%edi, %ebx
	xorl	%edi, %edi
	callq	sched_getaffinity@PLT
	testl	%eax, %eax
	jne	.LBB5_3
	vmovups	128(%rsp), %zmm0
	vmovups	192(%rsp), %zmm1
	movb	$-2, %dl
	movl	%ebx, %ecx
	movl	%ebx, %eax
	shrl	$3, %eax
	movl	$128, %esi
	xorl	%edi, %edi
	rolb	%cl, %dl
	vmovups	%zmm0, (%rsp)
	vmovups	%zmm1, 64(%rsp)
	andb	%dl, (%rsp,%rax)
	movq	%rsp, %rdx
	vzeroupper
	callq	sched_setaffinity@PLT
	leaq	128(%rsp), %rdx
	movl	$128, %esi
	xorl	%edi, %edi
	callq	sched_setaffinity@PLT
.LBB5_3:
	addq	$256, %rsp
	popq	%rbx
.LBB5_4:
	retq
.Lfunc_end5:
	.size	leave, .Lfunc_end5-leave

	.globl	wengert_wake
	.p2align	4
	.type	wengert_wake,@function
wengert_wake:
	testq	%rdi, %rdi
	je	.LBB6_5
	cmpq	$2, (%rdi)
	jb	.LBB6_5
	pushq	%rbx
	movq	%rdi, %rbx
	callq	sched_getcpu@PLT
	movl	%eax, 396(%rbx)
	lock		incl	384(%rbx)
	movl	388(%rbx), %eax
	testl	%eax, %eax
	je	.LBB6_4
	movq	%rbx, %rdi
	addq	$384, %rdi
	callq	wake
.LBB6_4:
	popq	%rbx
.LBB6_5:
	retq
.Lfunc_end6:
	.size	wengert_wake, .Lfunc_end6-wengert_wake

	.globl	wengert_stop
	.p2align	4
	.type	wengert_stop,@function
wengert_stop:
	pushq	%rbx
	movl	$1, %eax
	movq	%rdi, %rbx
	addq	$392, %rdi
	xchgl	%eax, 392(%rbx)
	callq	wake
	movq	%rbx, %rdi
	callq	wengert_wake@PLT
	popq	%rbx
	retq
.Lfunc_end7:
	.size	wengert_stop, .Lfunc_end7-wengert_stop

	.globl	wengert_threads
	.p2align	4
	.type	wengert_threads,@function
wengert_threads:
	testq	%rdi, %rdi
	je	.LBB8_1
	movq	40(%rdi), %rax
	retq
.LBB8_1:
	movl	$1, %eax
	retq
.Lfunc_end8:
	.size	wengert_threads, .Lfunc_end8-wengert_threads

	.p2align	4
	.type	rouse,@function
rouse:
	movl	388(%rdi), %eax
	cmpq	%rax, 48(%rdi)
	jae	.LBB9_8
	pushq	%r15
	pushq	%r14
	pushq	%r12
	pushq	%rbx
	pushq	%rax
	movq	%rcx, %r15
	movq	%rdx, %r14
	movq	%rsi, %r12
	movq	%rdi, %rbx
	callq	clock
	subq	%r12, %rax
	imulq	%r15, %rax
	movq	%rax, %rcx
	orq	%r14, %rcx
	shrq	$32, %rcx
	testq	%rcx, %rcx
	je	.LBB9_2
	je	.LBB9_2
	xorl	%edx, %edx
	divq	%r14
	cmpq	$200001, %rax
	jge	.LBB9_6
	jmp	.LBB9_7
.LBB9_2:
	xorl	%edx, %edx
	divl	%r14d
	cmpq	$200001, %rax
	jl	.LBB9_7
.LBB9_6:
	movq	%rbx, %rdi
	callq	wengert_wake@PLT
.LBB9_7:
	addq	$8, %rsp
	popq	%rbx
	popq	%r12
	popq	%r14
	popq	%r15
.LBB9_8:
	retq
.Lfunc_end9:
	.size	rouse, .Lfunc_end9-rouse

	.globl	wengert_share
	.p2align	4
	.type	wengert_share,@function
wengert_share:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$88, %rsp
	movq	%rdx, 16(%rsp)
	movq	%rsi, 24(%rsp)
	testq	%rdi, %rdi
	je	.LBB10_2
	movq	(%rdi), %rax
	cmpq	%r8, %rax
	cmovbq	%rax, %r8
	cmpq	%rcx, %r8
	cmovaeq	%rcx, %r8
	cmpq	$1, %r8
	ja	.LBB10_5
.LBB10_2:
	testq	%rcx, %rcx
	je	.LBB10_4
	movq	16(%rsp), %rdi
	movq	%rcx, %rdx
	xorl	%esi, %esi
	xorl	%ecx, %ecx
	callq	*24(%rsp)
	jmp	.LBB10_4
.LBB10_5:
	movl	512(%rdi), %eax
	movq	56(%rdi), %r14
	movq	%rdi, 8(%rsp)
	movq	%rcx, %rbx
	movq	%r8, 32(%rsp)
	movl	%eax, 44(%rsp)
	callq	clock
	movq	32(%rsp), %rsi
	movq	%rax, 56(%rsp)
	movq	%rbx, %rax
	movq	%rbx, %rcx
	orq	%rsi, %rax
	shrq	$32, %rax
	testq	%rax, %rax
	je	.LBB10_6
	je	.LBB10_6
	movq	%rcx, %rax
	xorl	%edx, %edx
	divq	%rsi
	movq	%rdx, %rbp
	movq	%rax, %rcx
	jmp	.LBB10_9
.LBB10_6:
	movl	%ecx, %eax
	xorl	%edx, %edx
	divl	%esi
	movl	%edx, %ebp
	movl	%eax, %ecx
.LBB10_9:
	movq	8(%rsp), %rdi
	movq	24(%rsp), %rax
	movq	%rcx, 72(%rsp)
	movabsq	$-4294967296, %rdx
	movq	%r14, 80(%rsp)
	movq	%rax, 136(%rdi)
	movq	16(%rsp), %rax
	movq	%rax, 144(%rdi)
	movq	%rcx, 152(%rdi)
	movq	%rsi, %rcx
	shrq	%rsi
	shlq	$32, %rcx
	movq	%rbp, 160(%rdi)
	movq	%rsi, %rax
	orq	%r14, %rax
	movq	%rsi, 64(%rsp)
	testq	%rdx, %rax
	je	.LBB10_10
	shrq	$32, %rax
	je	.LBB10_10
	movq	%rsi, %rax
	xorl	%edx, %edx
	divq	%r14
	movq	%rax, %r12
	jmp	.LBB10_13
.LBB10_10:
	movl	%esi, %eax
	xorl	%edx, %edx
	divl	%r14d
	movl	%eax, %r12d
.LBB10_13:
	cmpq	$1, %r12
	adcq	$0, %r12
	xorl	%r14d, %r14d
	orq	%r12, %rcx
	movq	%r12, %rbx
	movq	%r12, %r15
	movq	%rcx, 128(%rdi)
	movq	%r12, 48(%rsp)
	.p2align	4
.LBB10_14:
	movq	72(%rsp), %rcx
	movq	%r14, %rax
	addq	%r14, %rbx
	movq	16(%rsp), %rdi
	movq	%rbp, %rsi
	movq	%rbx, %rdx
	imulq	%rcx, %rax
	cmpq	%rbp, %r14
	cmovbq	%r14, %rsi
	imulq	%rcx, %rdx
	addq	%rax, %rsi
	cmpq	%rbp, %rbx
	cmovaeq	%rbp, %rbx
	xorl	%ecx, %ecx
	addq	%rdx, %rbx
	movq	%rbx, %rdx
	callq	*24(%rsp)
	movq	32(%rsp), %r8
	movq	64(%rsp), %rcx
	movq	80(%rsp), %rsi
	movabsq	$-4294967296, %rdx
	movq	%r8, %rax
	subq	%r12, %rax
	cmpq	%rcx, %rax
	cmovaeq	%rcx, %rax
	movq	%rax, %rcx
	orq	%rsi, %rcx
	testq	%rdx, %rcx
	je	.LBB10_15
	shrq	$32, %rcx
	je	.LBB10_15
	xorl	%edx, %edx
	divq	%rsi
	jmp	.LBB10_18
	.p2align	4
.LBB10_15:
	xorl	%edx, %edx
	divl	%esi
.LBB10_18:
	movq	8(%rsp), %rdi
	cmpq	$1, %rax
	movq	%r8, %rbx
	adcq	$0, %rax
	movq	%rax, %r12
	lock		xaddq	%r12, 128(%rdi)
	movzwl	%r12w, %r13d
	shrl	$16, %r12d
	addq	%r13, %r12
	subq	%r12, %rbx
	jbe	.LBB10_21
	cmpq	%rbx, %rax
	cmovbq	%rax, %rbx
	addq	%rbx, %r12
	addq	%rbx, %r15
	testq	%r14, %r14
	movq	%r13, %r14
	jne	.LBB10_14
	movq	32(%rsp), %rcx
	movq	8(%rsp), %rdi
	movq	56(%rsp), %rsi
	movq	48(%rsp), %rdx
	subq	%r12, %rcx
	callq	rouse
	movq	%r13, %r14
	jmp	.LBB10_14
.LBB10_21:
	movl	44(%rsp), %esi
	subl	%r15d, %r8d
	addl	%r8d, %esi
	movq	%r15, %r8
	movl	%esi, 512(%rdi)
	movq	56(%rsp), %rdx
	movq	48(%rsp), %rcx
	callq	finish
.LBB10_4:
	addq	$88, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	retq
.Lfunc_end10:
	.size	wengert_share, .Lfunc_end10-wengert_share

	.p2align	4
	.type	finish,@function
finish:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$40, %rsp
	movq	%r8, 32(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rdi, 8(%rsp)
	movq	32(%rdi), %rbp
	movl	256(%rdi), %eax
	cmpl	%esi, %eax
	je	.LBB11_14
	movq	8(%rsp), %rcx
	leaq	4(%rbp), %r13
	movl	%esi, %ebx
	xorl	%r12d, %r12d
	leaq	256(%rcx), %r14
	leaq	260(%rcx), %r15
	jmp	.LBB11_2
	.p2align	4
.LBB11_3:
	pause
.LBB11_4:
	movl	(%r14), %eax
	incq	%r12
	cmpl	%ebx, %eax
	je	.LBB11_14
.LBB11_2:
	cmpq	%rbp, %r12
	jb	.LBB11_3
	cmpq	%r13, %r12
	jae	.LBB11_7
	callq	sched_yield@PLT
	jmp	.LBB11_4
.LBB11_7:
	movl	%eax, %ebp
	callq	clock
	movq	%rax, %rcx
	subq	16(%rsp), %rax
	movq	32(%rsp), %rdi
	imulq	24(%rsp), %rax
	movq	%rax, %rdx
	orq	%rdi, %rdx
	shrq	$32, %rdx
	testq	%rdx, %rdx
	je	.LBB11_8
	movl	%ebp, %esi
	je	.LBB11_10
	xorl	%edx, %edx
	divq	%rdi
	jmp	.LBB11_12
.LBB11_8:
	xorl	%edx, %edx
	divl	%edi
	movl	%ebp, %esi
	jmp	.LBB11_12
.LBB11_10:
	xorl	%edx, %edx
	divl	%edi
.LBB11_12:
	movq	8(%rsp), %rdx
	movq	%rcx, 264(%rdx)
	movq	%rax, 272(%rdx)
	.p2align	4
.LBB11_13:
	movq	%r14, %rdi
	movq	%r15, %rdx
	callq	sleep
	movl	(%r14), %esi
	cmpl	%ebx, %esi
	jne	.LBB11_13
.LBB11_14:
	addq	$40, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	retq
.Lfunc_end11:
	.size	finish, .Lfunc_end11-finish

	.globl	wengert_worker
	.p2align	4
	.type	wengert_worker,@function
wengert_worker:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$56, %rsp
	movq	16(%rdi), %rcx
	movq	8(%rdi), %rax
	movq	56(%rdi), %rbp
	vxorps	%xmm0, %xmm0, %xmm0
	movq	%rcx, 24(%rsp)
	movq	24(%rdi), %rcx
	vmovaps	%xmm0, 32(%rsp)
	movq	%rcx, 16(%rsp)
	movl	384(%rdi), %edx
	movl	392(%rdi), %ecx
	testl	%ecx, %ecx
	je	.LBB12_1
.LBB12_19:
	addq	$56, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	retq
.LBB12_1:
	cmpq	%rax, %rsi
	movq	%rsi, %rbx
	movq	%rdi, %r14
	setb	11(%rsp)
	jmp	.LBB12_2
	.p2align	4
.LBB12_17:
	leaq	256(%r14), %rdi
	callq	wake
	leaq	32(%rsp), %rsi
	movq	%r14, %rdi
	callq	away
	movl	384(%r14), %edx
	movl	392(%r14), %eax
	testl	%eax, %eax
	jne	.LBB12_19
.LBB12_2:
	movl	%edx, 12(%rsp)
	xorl	%r15d, %r15d
	xorl	%esi, %esi
	xorl	%eax, %eax
.LBB12_3:
	movq	128(%r14), %r13
	movq	%r13, %r12
	movzwl	%r13w, %ecx
	shrl	$16, %r13d
	shrq	$32, %r12
	addq	%rcx, %r13
	cmpq	%r12, %r13
	jb	.LBB12_10
	cmpb	$0, 11(%rsp)
	je	.LBB12_20
	movq	24(%rsp), %rcx
	cmpq	%rcx, %r15
	cmovaq	%r15, %rcx
	decq	%rax
	incq	%r15
	negq	%rcx
	.p2align	4
.LBB12_6:
	leaq	(%rcx,%r15), %rdx
	cmpq	$1, %rdx
	je	.LBB12_20
	testq	%rax, %rax
	js	.LBB12_8
	pause
	decq	%rax
	incq	%r15
	movq	128(%r14), %r13
	movq	%r13, %r12
	movzwl	%r13w, %edx
	shrl	$16, %r13d
	shrq	$32, %r12
	addq	%rdx, %r13
	cmpq	%r12, %r13
	jae	.LBB12_6
	.p2align	4
.LBB12_10:
	movq	%r12, %rax
	subq	%r13, %rax
	shrq	%r12
	cmpq	%r12, %rax
	cmovbq	%rax, %r12
	movq	%r12, %rax
	orq	%rbp, %rax
	shrq	$32, %rax
	testq	%rax, %rax
	je	.LBB12_11
	je	.LBB12_11
	movq	%r12, %rax
	xorl	%edx, %edx
	divq	%rbp
	jmp	.LBB12_14
	.p2align	4
.LBB12_11:
	movl	%r12d, %eax
	xorl	%edx, %edx
	divl	%ebp
.LBB12_14:
	cmpq	$1, %rax
	adcq	$0, %rax
	movq	%rax, %rcx
	shlq	$16, %rcx
	lock		xaddq	%rcx, 128(%r14)
	movq	%rcx, %r12
	movzwl	%cx, %r13d
	shrl	$16, %ecx
	shrq	$32, %r12
	addq	%rcx, %r13
	movq	%r12, %r15
	subq	%r13, %r15
	jbe	.LBB12_15
	cmpq	%r15, %rax
	movq	152(%r14), %r9
	movq	%r12, %rdx
	movq	144(%r14), %rdi
	cmovbq	%rax, %r15
	subq	%rcx, %rdx
	movq	160(%r14), %rcx
	movq	%rdx, %rsi
	subq	%r15, %rsi
	addq	%r15, %r13
	movq	%r9, %r8
	imulq	%rsi, %r8
	cmpq	%rcx, %rsi
	cmovaeq	%rcx, %rsi
	imulq	%rdx, %r9
	addq	%r8, %rsi
	cmpq	%rcx, %rdx
	cmovaeq	%rcx, %rdx
	movq	%rbx, %rcx
	addq	%r9, %rdx
	callq	*136(%r14)
	lock		addl	%r15d, 256(%r14)
	movl	260(%r14), %eax
	testl	%eax, %eax
	je	.LBB12_10
	jmp	.LBB12_17
	.p2align	4
.LBB12_15:
	movq	16(%rsp), %rax
	xorl	%r15d, %r15d
	xorl	%esi, %esi
	jmp	.LBB12_3
.LBB12_8:
	movq	%r14, %rdi
	movq	%rsi, %r12
	callq	part
	callq	sched_yield@PLT
	movl	256(%r14), %eax
	movl	512(%r14), %ecx
	leaq	1(%r12), %rsi
	cmpl	%ecx, %eax
	movl	$0, %ecx
	movq	%r15, %rax
	cmovneq	%rcx, %rax
	cmpq	$4096, %r12
	cmovbq	%rax, %r15
	movq	16(%rsp), %rax
	jmp	.LBB12_3
	.p2align	4
.LBB12_20:
	movl	12(%rsp), %esi
	leaq	384(%r14), %rdi
	leaq	388(%r14), %rdx
	callq	sleep
	movl	384(%r14), %edx
	movl	392(%r14), %eax
	testl	%eax, %eax
	je	.LBB12_2
	jmp	.LBB12_19
.Lfunc_end12:
	.size	wengert_worker, .Lfunc_end12-wengert_worker

	.p2align	4
	.type	part,@function
part:
	pushq	%rbx
	movl	396(%rdi), %ebx
	callq	sched_getcpu@PLT
	cmpl	%eax, %ebx
	jne	.LBB13_2
	movl	%eax, %edi
	callq	leave
.LBB13_2:
	popq	%rbx
	retq
.Lfunc_end13:
	.size	part, .Lfunc_end13-part

	.p2align	4
	.type	away,@function
away:
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$16, %rsp
	movq	264(%rdi), %r12
	movq	272(%rdi), %r13
	movq	%rsi, %r15
	movq	%rdi, %rbx
	callq	clock
	movq	%rax, %r14
	subq	%r12, %rax
	shlq	$2, %r13
	cmpq	%r13, %rax
	jle	.LBB14_6
	movq	(%r15), %rcx
	subq	8(%r15), %r12
	leaq	(,%rax,8), %rdx
	shlq	$2, %rax
	addq	$392, %rbx
	addq	%rcx, %rcx
	cmpq	%rcx, %rax
	cmovaq	%rax, %rcx
	movl	$50000000, %eax
	cmpq	$50000000, %rcx
	cmovbq	%rcx, %rax
	xorl	%ecx, %ecx
	cmpq	%rdx, %r12
	cmovlq	%rax, %rcx
	addq	%rcx, %r14
	movq	%rcx, (%r15)
	movq	%r14, 8(%r15)
	movl	(%rbx), %eax
	testq	%rcx, %rcx
	je	.LBB14_6
	testl	%eax, %eax
	jne	.LBB14_6
	movabsq	$19342813113834067, %r12
	movq	%rsp, %r15
	.p2align	4
.LBB14_4:
	movq	%rcx, %rdx
	shrq	$9, %rdx
	movq	%rbx, %rdi
	xorl	%esi, %esi
	mulxq	%r12, %rax, %rax
	shrq	$11, %rax
	imulq	$1000000000, %rax, %rdx
	movq	%rax, (%rsp)
	subq	%rdx, %rcx
	movq	%r15, %rdx
	movq	%rcx, 8(%rsp)
	callq	nap
	callq	clock
	movq	%r14, %rcx
	subq	%rax, %rcx
	movl	(%rbx), %eax
	testq	%rcx, %rcx
	jle	.LBB14_6
	testl	%eax, %eax
	je	.LBB14_4
.LBB14_6:
	addq	$16, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	retq
.Lfunc_end14:
	.size	away, .Lfunc_end14-away

	.section	".note.GNU-stack","",@progbits
