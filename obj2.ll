; ModuleID = '<string>'
source_filename = "<string>"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

@entry_shape0 = private unnamed_addr constant [2 x i64] [i64 3, i64 3], align 8

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <4 x double> @llvm.copysign.v4f64(<4 x double>, <4 x double>) #0

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <4 x double> @llvm.fabs.v4f64(<4 x double>) #0

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <4 x double> @llvm.fmuladd.v4f64(<4 x double>, <4 x double>, <4 x double>) #0

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <4 x double> @llvm.masked.load.v4f64.p0(ptr captures(none), <4 x i1>, <4 x double>) #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare double @llvm.fabs.f64(double) #0

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare double @llvm.fmuladd.f64(double, double, double) #0

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v4f64.p0(<4 x double>, ptr captures(none), <4 x i1>) #2

; Function Attrs: nounwind
define internal void @nest1(ptr %status, i64 %first, i64 %last, ptr %b0, ptr %b1, ptr %b2, ptr %b3, ptr %b4, ptr %b5, ptr %b6, ptr %b7, ptr %b8, ptr %b9, ptr %b10) #3 {
entry:
  %v1 = getelementptr inbounds nuw i8, ptr %b0, i64 48
  %v2 = load double, ptr %v1, align 8
  %v3 = call double @llvm.fabs.f64(double %v2)
  %v4 = getelementptr inbounds nuw i8, ptr %b0, i64 24
  %v5 = load double, ptr %v4, align 8
  %v6 = call double @llvm.fabs.f64(double %v5)
  %v7 = load double, ptr %b0, align 8
  %v8 = call double @llvm.fabs.f64(double %v7)
  %v9 = fcmp ogt double %v6, %v8
  %v10 = select i1 %v9, double %v5, double %v7
  %v11 = call double @llvm.fabs.f64(double %v10)
  %v12 = fcmp ogt double %v3, %v11
  %v14 = select i1 %v12, double %v2, double %v10
  %v15 = fcmp oeq double %v14, 0.000000e+00
  %v17 = select i1 %v12, double %v10, double %v2
  %v19 = select i1 %v15, double 1.000000e+00, double %v14
  %v21 = getelementptr inbounds nuw i8, ptr %b0, i64 56
  %v22 = load double, ptr %v21, align 8
  %v23 = getelementptr inbounds nuw i8, ptr %b0, i64 32
  %v24 = load double, ptr %v23, align 8
  %v25 = getelementptr inbounds nuw i8, ptr %b0, i64 8
  %v26 = load double, ptr %v25, align 8
  %v27 = select i1 %v9, double %v24, double %v26
  %v28 = select i1 %v12, double %v22, double %v27
  %0 = fneg double %v17
  %v29 = fdiv double %0, %v19
  %v31 = select i1 %v12, double %v27, double %v22
  %v32 = call double @llvm.fmuladd.f64(double %v29, double %v28, double %v31)
  %v33 = call double @llvm.fabs.f64(double %v32)
  %v34 = select i1 %v9, double %v7, double %v5
  %1 = fneg double %v34
  %v38 = fdiv double %1, %v19
  %v39 = select i1 %v9, double %v26, double %v24
  %v40 = call double @llvm.fmuladd.f64(double %v38, double %v28, double %v39)
  %v41 = call double @llvm.fabs.f64(double %v40)
  %v42 = fcmp ogt double %v33, %v41
  %v43 = select i1 %v42, double %v32, double %v40
  %v44 = fcmp oeq double %v43, 0.000000e+00
  %v46 = select i1 %v42, double %v40, double %v32
  %v48 = select i1 %v44, double 1.000000e+00, double %v43
  %v50 = getelementptr inbounds nuw i8, ptr %b0, i64 64
  %v51 = load double, ptr %v50, align 8
  %v52 = getelementptr inbounds nuw i8, ptr %b0, i64 40
  %v53 = load double, ptr %v52, align 8
  %v54 = getelementptr inbounds nuw i8, ptr %b0, i64 16
  %v55 = load double, ptr %v54, align 8
  %v56 = select i1 %v9, double %v53, double %v55
  %v57 = select i1 %v12, double %v51, double %v56
  %v60 = select i1 %v12, double %v56, double %v51
  %v61 = call double @llvm.fmuladd.f64(double %v29, double %v57, double %v60)
  %v63 = select i1 %v9, double %v55, double %v53
  %v64 = call double @llvm.fmuladd.f64(double %v38, double %v57, double %v63)
  %v65 = select i1 %v42, double %v61, double %v64
  %2 = fneg double %v46
  %v66 = fdiv double %2, %v48
  %v67 = select i1 %v42, double %v64, double %v61
  %v68 = call double @llvm.fmuladd.f64(double %v66, double %v65, double %v67)
  %v69 = fcmp oeq double %v68, 0.000000e+00
  %3 = or i1 %v44, %v69
  %v70 = or i1 %v15, %3
  %v71 = xor i1 %v70, true
  %v73 = select i1 %v12, double 1.000000e+00, double 0.000000e+00
  %v75 = select i1 %v12, double 0.000000e+00, double 1.000000e+00
  %v76 = call double @llvm.fmuladd.f64(double %v29, double %v73, double %v75)
  %v80 = call double @llvm.fmuladd.f64(double %v38, double %v73, double 0.000000e+00)
  %v81 = select i1 %v42, double %v76, double %v80
  %v87 = select i1 %v42, double %v80, double %v76
  %v88 = call double @llvm.fmuladd.f64(double %v66, double %v81, double %v87)
  %v89 = fdiv double %v88, %v68
  %v90 = fneg double %v65
  %v91 = call double @llvm.fmuladd.f64(double %v90, double %v89, double %v81)
  %v92 = fdiv double %v91, %v43
  %v93 = fneg double %v28
  %v94 = fneg double %v57
  %v97 = call double @llvm.fmuladd.f64(double %v94, double %v89, double %v73)
  %v98 = call double @llvm.fmuladd.f64(double %v93, double %v92, double %v97)
  %v99 = fdiv double %v98, %v14
  %v100 = select i1 %v9, double 1.000000e+00, double 0.000000e+00
  %v101 = select i1 %v12, double 0.000000e+00, double %v100
  %v103 = select i1 %v12, double %v100, double 0.000000e+00
  %v104 = call double @llvm.fmuladd.f64(double %v29, double %v101, double %v103)
  %v108 = select i1 %v9, double 0.000000e+00, double 1.000000e+00
  %v109 = call double @llvm.fmuladd.f64(double %v38, double %v101, double %v108)
  %v110 = select i1 %v42, double %v104, double %v109
  %v112 = select i1 %v42, double %v109, double %v104
  %v113 = call double @llvm.fmuladd.f64(double %v66, double %v110, double %v112)
  %v114 = fdiv double %v113, %v68
  %v117 = call double @llvm.fmuladd.f64(double %v90, double %v114, double %v110)
  %v118 = fdiv double %v117, %v43
  %v123 = call double @llvm.fmuladd.f64(double %v94, double %v114, double %v101)
  %v124 = call double @llvm.fmuladd.f64(double %v93, double %v118, double %v123)
  %v125 = fdiv double %v124, %v14
  %v127 = select i1 %v12, double 0.000000e+00, double %v108
  %v129 = select i1 %v12, double %v108, double 0.000000e+00
  %v130 = call double @llvm.fmuladd.f64(double %v29, double %v127, double %v129)
  %v135 = call double @llvm.fmuladd.f64(double %v38, double %v127, double %v100)
  %v136 = select i1 %v42, double %v130, double %v135
  %v138 = select i1 %v42, double %v135, double %v130
  %v139 = call double @llvm.fmuladd.f64(double %v66, double %v136, double %v138)
  %v140 = fdiv double %v139, %v68
  %v143 = call double @llvm.fmuladd.f64(double %v90, double %v140, double %v136)
  %v144 = fdiv double %v143, %v43
  %v149 = call double @llvm.fmuladd.f64(double %v94, double %v140, double %v127)
  %v150 = call double @llvm.fmuladd.f64(double %v93, double %v144, double %v149)
  %v151 = fdiv double %v150, %v14
  %v152 = zext i1 %v71 to i8
  store i8 %v152, ptr %b1, align 1
  store double %v89, ptr %b2, align 8
  store double %v92, ptr %b3, align 8
  store double %v99, ptr %b4, align 8
  store double %v114, ptr %b5, align 8
  store double %v118, ptr %b6, align 8
  store double %v125, ptr %b7, align 8
  store double %v140, ptr %b8, align 8
  store double %v144, ptr %b9, align 8
  store double %v151, ptr %b10, align 8
  ret void
}

; Function Attrs: nounwind alignstack(64)
define internal void @nest2(ptr %status, i64 %first, i64 %last, ptr %b0, ptr %b1, ptr %b2, ptr %b3) #4 {
entry:
  %v5 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %b0, <4 x i1> <i1 true, i1 false, i1 false, i1 false>, <4 x double> poison)
  %v13 = getelementptr inbounds i8, ptr %b1, i64 -8
  %v14 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr nonnull align 8 %v13, <4 x i1> <i1 false, i1 true, i1 false, i1 false>, <4 x double> poison)
  %v18 = getelementptr inbounds i8, ptr %b2, i64 -16
  %v19 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr nonnull align 8 %v18, <4 x i1> <i1 false, i1 false, i1 true, i1 false>, <4 x double> poison)
  %v20 = shufflevector <4 x double> %v19, <4 x double> %v14, <4 x i32> <i32 poison, i32 5, i32 2, i32 poison>
  %v21 = shufflevector <4 x double> %v5, <4 x double> %v20, <4 x i32> <i32 0, i32 5, i32 6, i32 poison>
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v21, ptr align 8 %b3, <4 x i1> <i1 true, i1 true, i1 true, i1 false>)
  ret void
}

; Function Attrs: nounwind alignstack(64)
define internal void @nest3(ptr %status, i64 %first, i64 %last, ptr %b0, ptr %b1, ptr %b2, ptr %b3) #4 {
entry:
  %v6 = load double, ptr %b2, align 8
  %v8 = load double, ptr %b1, align 8
  %v15 = load double, ptr %b0, align 8
  %0 = insertelement <4 x double> poison, double %v15, i64 0
  %1 = insertelement <4 x double> %0, double %v8, i64 1
  %v18 = insertelement <4 x double> %1, double %v6, i64 2
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v18, ptr align 8 %b3, <4 x i1> <i1 true, i1 true, i1 true, i1 false>)
  ret void
}

; Function Attrs: nounwind alignstack(64)
define internal void @nest5(ptr %status, i64 %first, i64 %last, ptr %b0, ptr %b1, ptr %b2, ptr %b3, ptr %b4) #4 {
entry:
  %scevgep = getelementptr i8, ptr %b2, i64 -48
  br label %body2

body2:                                            ; preds = %entry, %good35
  %lsr.iv = phi i64 [ 0, %entry ], [ %lsr.iv.next, %good35 ]
  %v41 = phi i64 [ 0, %entry ], [ %v44, %good35 ]
  switch i64 %v41, label %outside17 [
    i64 0, label %inside7
    i64 1, label %inside16
  ]

inside7:                                          ; preds = %body2
  %v13 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %b0, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x double> <double poison, double poison, double poison, double 0.000000e+00>)
  br label %guarded9

inside16:                                         ; preds = %body2
  %v23 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr nonnull align 8 %b1, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x double> <double poison, double poison, double poison, double 0.000000e+00>)
  br label %guarded9

outside17:                                        ; preds = %body2
  %scevgep2 = getelementptr i8, ptr %scevgep, i64 %lsr.iv
  %v28 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr nonnull align 8 %scevgep2, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x double> <double poison, double poison, double poison, double 0.000000e+00>)
  br label %guarded9

guarded9:                                         ; preds = %inside16, %outside17, %inside7
  %v30 = phi <4 x double> [ %v13, %inside7 ], [ %v23, %inside16 ], [ %v28, %outside17 ]
  %v31 = load i8, ptr %b3, align 1
  %v32 = trunc i8 %v31 to i1
  br i1 %v32, label %good35, label %bad34

bad34:                                            ; preds = %guarded9
  %v36 = load i64, ptr %status, align 8
  %v38 = call i64 @llvm.umax.i64(i64 %v36, i64 1)
  store i64 %v38, ptr %status, align 8
  br label %good35

good35:                                           ; preds = %bad34, %guarded9
  %v1.i = call <4 x double> @llvm.fabs.v4f64(<4 x double> %v30)
  %v2.i = fcmp ogt <4 x double> %v1.i, splat (double 0x4033687A9F1AF2B1)
  %v3.i = select <4 x i1> %v2.i, <4 x double> splat (double 0x4033687A9F1AF2B1), <4 x double> %v1.i
  %v4.i = fadd <4 x double> %v3.i, %v3.i
  %v5.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v4.i, <4 x double> splat (double 0x3FF71547652B82FE), <4 x double> splat (double -5.000000e-01))
  %v6.i = fadd <4 x double> %v5.i, splat (double 0x4338000000000000)
  %v7.i = fadd <4 x double> %v6.i, splat (double 0xC338000000000000)
  %v8.i = bitcast <4 x double> %v6.i to <4 x i64>
  %v9.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v7.i, <4 x double> splat (double 0xBFE62E42FF000000), <4 x double> %v4.i)
  %v10.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v7.i, <4 x double> splat (double 0x3DC718432A1B0E26), <4 x double> %v9.i)
  %v11.i = fmul <4 x double> %v10.i, %v10.i
  %v13.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v11.i, <4 x double> splat (double 0x3E594DBC6FE951F5), <4 x double> splat (double 0x3EC71BA725753A1C))
  %v14.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v13.i, <4 x double> %v11.i, <4 x double> splat (double 0x3F2A019EFCC93284))
  %v15.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v14.i, <4 x double> %v11.i, <4 x double> splat (double 0x3F81111110F7EB86))
  %v16.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v15.i, <4 x double> %v11.i, <4 x double> splat (double 0x3FC5555555555468))
  %v17.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v11.i, <4 x double> splat (double 0x3E28AA6D9133275A), <4 x double> splat (double 0x3E929953C6A329B1))
  %v18.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v17.i, <4 x double> %v11.i, <4 x double> splat (double 0x3EFA01BF234CCAB3))
  %v19.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v18.i, <4 x double> %v11.i, <4 x double> splat (double 0x3F56C16C1D70CC88))
  %v20.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v19.i, <4 x double> %v11.i, <4 x double> splat (double 0x3FA555555555C2ED))
  %v21.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v20.i, <4 x double> %v11.i, <4 x double> splat (double 0x3FE0000000000001))
  %v22.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v16.i, <4 x double> %v10.i, <4 x double> %v21.i)
  %v23.i = fmul <4 x double> %v11.i, %v22.i
  %v24.i = shl <4 x i64> %v8.i, splat (i64 52)
  %v25.i = add <4 x i64> %v24.i, splat (i64 4607182418800017408)
  %v26.i = bitcast <4 x i64> %v25.i to <4 x double>
  %v27.i = fadd <4 x double> %v10.i, %v23.i
  %v28.i = fadd <4 x double> %v26.i, splat (double -1.000000e+00)
  %v29.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v26.i, <4 x double> %v27.i, <4 x double> %v28.i)
  %v30.i = fadd <4 x double> %v29.i, splat (double 2.000000e+00)
  %v31.i = fdiv <4 x double> %v29.i, %v30.i
  %v32.i = fneg <4 x double> %v29.i
  %v33.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v31.i, <4 x double> %v32.i, <4 x double> %v23.i)
  %v34.i = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v33.i, <4 x double> splat (double 5.000000e-01), <4 x double> %v3.i)
  %v35.i = fcmp olt <4 x double> %v3.i, splat (double 3.400000e-01)
  %v36.i = select <4 x i1> %v35.i, <4 x double> %v34.i, <4 x double> %v31.i
  %v37.i = call <4 x double> @llvm.copysign.v4f64(<4 x double> %v36.i, <4 x double> %v30)
  %v40 = fadd <4 x double> %v37.i, <double 0.000000e+00, double 0.000000e+00, double 0.000000e+00, double poison>
  %scevgep3 = getelementptr i8, ptr %b4, i64 %lsr.iv
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v40, ptr align 8 %scevgep3, <4 x i1> <i1 true, i1 true, i1 true, i1 false>)
  %v44 = add nuw nsw i64 %v41, 1
  %lsr.iv.next = add nuw nsw i64 %lsr.iv, 24
  %exitcond.not = icmp eq i64 %v44, 3
  br i1 %exitcond.not, label %after3, label %body2

after3:                                           ; preds = %good35
  ret void
}

; Function Attrs: nounwind
define void @main(ptr %args, ptr %team) #3 {
entry:
  %v2 = load ptr, ptr %args, align 8
  %v3 = getelementptr inbounds nuw i8, ptr %args, i64 8
  %v4 = load ptr, ptr %v3, align 8
  %v5 = getelementptr inbounds nuw i8, ptr %args, i64 24
  %v6 = load ptr, ptr %v5, align 8
  %v7 = getelementptr inbounds nuw i8, ptr %args, i64 32
  %v8 = load ptr, ptr %v7, align 8
  %v10 = getelementptr inbounds nuw i8, ptr %v4, i64 64
  %v11 = getelementptr inbounds nuw i8, ptr %v4, i64 128
  %v12 = getelementptr inbounds nuw i8, ptr %v4, i64 192
  %v13 = getelementptr inbounds nuw i8, ptr %v4, i64 256
  %v14 = getelementptr inbounds nuw i8, ptr %v4, i64 320
  %v15 = getelementptr inbounds nuw i8, ptr %v4, i64 384
  %v16 = getelementptr inbounds nuw i8, ptr %v4, i64 448
  %v17 = getelementptr inbounds nuw i8, ptr %v4, i64 512
  %v18 = getelementptr inbounds nuw i8, ptr %v4, i64 576
  %v19 = getelementptr inbounds nuw i8, ptr %v4, i64 640
  call void @nest1(ptr %v2, i64 0, i64 1, ptr %v6, ptr nonnull %v18, ptr nonnull %v15, ptr nonnull %v12, ptr %v4, ptr nonnull %v16, ptr nonnull %v13, ptr nonnull %v10, ptr nonnull %v17, ptr nonnull %v14, ptr nonnull %v11)
  call void @nest2(ptr %v2, i64 0, i64 1, ptr nonnull %v11, ptr nonnull %v10, ptr %v4, ptr nonnull %v19)
  call void @nest3(ptr %v2, i64 0, i64 1, ptr nonnull %v14, ptr nonnull %v13, ptr nonnull %v12, ptr %v4)
  call void @nest3(ptr %v2, i64 0, i64 1, ptr nonnull %v17, ptr nonnull %v16, ptr nonnull %v15, ptr nonnull %v10)
  call void @nest5(ptr %v2, i64 0, i64 1, ptr nonnull %v19, ptr %v4, ptr nonnull %v10, ptr nonnull %v18, ptr %v8)
  ret void
}

; Function Attrs: nounwind
define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %names) #3 {
entry:
  %v9 = getelementptr inbounds nuw i8, ptr %self, i64 24
  %v10 = load ptr, ptr %v9, align 8
  %v11 = getelementptr inbounds nuw i8, ptr %v10, i64 16
  %v12 = load ptr, ptr %v11, align 8
  %v13 = icmp eq ptr %names, null
  %v14 = icmp eq i64 %count, 1
  %v15 = and i1 %v14, %v13
  br i1 %v15, label %so16, label %other

so16:                                             ; preds = %entry
  %v19 = load ptr, ptr %args, align 8
  %v21 = getelementptr inbounds nuw i8, ptr %v19, i64 8
  %v22 = load ptr, ptr %v21, align 8
  %v23 = getelementptr inbounds nuw i8, ptr %v12, i64 40
  %v24 = load ptr, ptr %v23, align 8
  %v25 = icmp eq ptr %v22, %v24
  br i1 %v25, label %so26, label %other

so26:                                             ; preds = %so16
  %v27 = getelementptr inbounds nuw i8, ptr %v19, i64 64
  %v28 = load i32, ptr %v27, align 4
  %v29 = and i32 %v28, 1281
  %v30 = icmp eq i32 %v29, 1281
  %v31 = getelementptr inbounds nuw i8, ptr %v19, i64 56
  %v32 = load ptr, ptr %v31, align 8
  %v33 = getelementptr inbounds nuw i8, ptr %v32, i64 24
  %v34 = load i64, ptr %v33, align 8
  %v35 = and i64 %v34, -4278255616
  %v36 = icmp eq i64 %v35, 51543605248
  %v37 = and i1 %v30, %v36
  %v38 = getelementptr inbounds nuw i8, ptr %v19, i64 24
  %v39 = load i32, ptr %v38, align 4
  %v40 = icmp eq i32 %v39, 3
  %v41 = and i1 %v40, %v37
  br i1 %v41, label %so42, label %other

so42:                                             ; preds = %so26
  %v43 = getelementptr inbounds nuw i8, ptr %v19, i64 32
  %v44 = load ptr, ptr %v43, align 8
  %v46 = load i64, ptr %v44, align 8
  %v47 = icmp eq i64 %v46, 1
  br i1 %v47, label %so48, label %other

so48:                                             ; preds = %so42
  %v49 = getelementptr inbounds nuw i8, ptr %v44, i64 8
  %v50 = load i64, ptr %v49, align 8
  %v51 = icmp eq i64 %v50, 3
  br i1 %v51, label %so52, label %other

so52:                                             ; preds = %so48
  %v53 = getelementptr inbounds nuw i8, ptr %v44, i64 16
  %v54 = load i64, ptr %v53, align 8
  %v55 = icmp eq i64 %v54, 3
  br i1 %v55, label %so56, label %other

so56:                                             ; preds = %so52
  %v57 = getelementptr inbounds nuw i8, ptr %v19, i64 16
  %v58 = load ptr, ptr %v57, align 8
  %v61 = getelementptr inbounds nuw i8, ptr %v12, i64 168
  %v62 = load ptr, ptr %v61, align 8
  %v63 = call ptr %v62(ptr %v24, i32 2, ptr nonnull @entry_shape0, i32 12, ptr null, ptr null, i32 0, i32 0, ptr null) #3
  %v64.not = icmp eq ptr %v63, null
  br i1 %v64.not, label %loop107.preheader, label %body68

loop107.preheader:                                ; preds = %so56
  %v114 = getelementptr inbounds nuw i8, ptr %v12, i64 88
  %v115 = load ptr, ptr %v114, align 8
  call void %v115(ptr null) #3
  br label %common.ret

body68:                                           ; preds = %so56
  %v74 = getelementptr inbounds nuw i8, ptr %v12, i64 520
  store ptr %v58, ptr %v74, align 8
  %v79 = getelementptr inbounds nuw i8, ptr %v63, i64 16
  %v80 = load ptr, ptr %v79, align 8
  %v81 = getelementptr inbounds nuw i8, ptr %v12, i64 528
  store ptr %v80, ptr %v81, align 8
  %v82 = getelementptr inbounds nuw i8, ptr %v12, i64 376
  %v83 = load ptr, ptr %v82, align 8
  %v84 = getelementptr inbounds nuw i8, ptr %v12, i64 496
  call void @main(ptr nonnull %v84, ptr %v83)
  %v85 = getelementptr inbounds nuw i8, ptr %v12, i64 432
  %v86 = load i64, ptr %v85, align 8
  %v87 = icmp eq i64 %v86, 0
  br i1 %v87, label %common.ret, label %again

common.ret:                                       ; preds = %loop107.preheader, %body68
  %common.ret.op = phi ptr [ %v63, %body68 ], [ null, %loop107.preheader ]
  ret ptr %common.ret.op

again:                                            ; preds = %body68
  %sunkaddr = getelementptr inbounds i8, ptr %v12, i64 432
  store i64 0, ptr %sunkaddr, align 8
  %v99 = getelementptr inbounds nuw i8, ptr %v12, i64 88
  %v100 = load ptr, ptr %v99, align 8
  call void %v100(ptr nonnull %v63) #3
  br label %other

other:                                            ; preds = %again, %so52, %so48, %so42, %so26, %so16, %entry
  %v102 = getelementptr inbounds nuw i8, ptr %self, i64 32
  %v103 = load ptr, ptr %v102, align 8
  %v104 = getelementptr inbounds nuw i8, ptr %v12, i64 72
  %v105 = load ptr, ptr %v104, align 8
  %v106 = tail call ptr %v105(ptr %v103, ptr %args, i64 %count, ptr %names) #3
  ret ptr %v106
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umax.i64(i64, i64) #0

attributes #0 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
attributes #3 = { nounwind }
attributes #4 = { nounwind alignstack=64 }
