declare <4 x double> @llvm.copysign.v4f64(<4 x double>, <4 x double>)
declare <4 x double> @llvm.fabs.v4f64(<4 x double>)
declare <4 x double> @llvm.fmuladd.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, <4 x i1>, <4 x double>)
declare double @llvm.fabs.f64(double)
declare double @llvm.fmuladd.f64(double, double, double)
declare void @llvm.masked.store.v4f64.p0(<4 x double>, ptr, <4 x i1>)
define internal <4 x double> @wengert.tanh.v4f64(<4 x double> %x) alwaysinline nounwind {
entry:
  %v1 = call <4 x double> @llvm.fabs.v4f64(<4 x double> %x)
  %v2 = fcmp ogt <4 x double> %v1, splat (double 0x4033687A9F1AF2B1)
  %v3 = select <4 x i1> %v2, <4 x double> splat (double 0x4033687A9F1AF2B1), <4 x double> %v1
  %v4 = fadd <4 x double> %v3, %v3
  %v5 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v4, <4 x double> splat (double 0x3FF71547652B82FE), <4 x double> splat (double 0xBFE0000000000000))
  %v6 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v5, <4 x double> splat (double 0x3FF0000000000000), <4 x double> splat (double 0x4338000000000000))
  %v7 = fsub <4 x double> %v6, splat (double 0x4338000000000000)
  %v8 = bitcast <4 x double> %v6 to <4 x i64>
  %v9 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v7, <4 x double> splat (double 0xBFE62E42FF000000), <4 x double> %v4)
  %v10 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v7, <4 x double> splat (double 0x3DC718432A1B0E26), <4 x double> %v9)
  %v11 = fmul <4 x double> %v10, %v10
  %v12 = fmul <4 x double> %v10, %v10
  %v13 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> splat (double 0x3E594DBC6FE951F5), <4 x double> %v12, <4 x double> splat (double 0x3EC71BA725753A1C))
  %v14 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v13, <4 x double> %v12, <4 x double> splat (double 0x3F2A019EFCC93284))
  %v15 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v14, <4 x double> %v12, <4 x double> splat (double 0x3F81111110F7EB86))
  %v16 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v15, <4 x double> %v12, <4 x double> splat (double 0x3FC5555555555468))
  %v17 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> splat (double 0x3E28AA6D9133275A), <4 x double> %v12, <4 x double> splat (double 0x3E929953C6A329B1))
  %v18 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v17, <4 x double> %v12, <4 x double> splat (double 0x3EFA01BF234CCAB3))
  %v19 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v18, <4 x double> %v12, <4 x double> splat (double 0x3F56C16C1D70CC88))
  %v20 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v19, <4 x double> %v12, <4 x double> splat (double 0x3FA555555555C2ED))
  %v21 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v20, <4 x double> %v12, <4 x double> splat (double 0x3FE0000000000001))
  %v22 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v16, <4 x double> %v10, <4 x double> %v21)
  %v23 = fmul <4 x double> %v11, %v22
  %v24 = add <4 x i64> %v8, splat (i64 1023)
  %v25 = shl <4 x i64> %v24, splat (i64 52)
  %v26 = bitcast <4 x i64> %v25 to <4 x double>
  %v27 = fadd <4 x double> %v10, %v23
  %v28 = fsub <4 x double> %v26, splat (double 0x3FF0000000000000)
  %v29 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v26, <4 x double> %v27, <4 x double> %v28)
  %v30 = fadd <4 x double> %v29, splat (double 0x4000000000000000)
  %v31 = fdiv <4 x double> %v29, %v30
  %v32 = fneg <4 x double> %v29
  %v33 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v31, <4 x double> %v32, <4 x double> %v23)
  %v34 = call <4 x double> @llvm.fmuladd.v4f64(<4 x double> %v33, <4 x double> splat (double 0x3FE0000000000000), <4 x double> %v3)
  %v35 = fcmp olt <4 x double> %v3, splat (double 0x3FD5C28F5C28F5C3)
  %v36 = select <4 x i1> %v35, <4 x double> %v34, <4 x double> %v31
  %v37 = call <4 x double> @llvm.copysign.v4f64(<4 x double> %v36, <4 x double> %x)
  ret <4 x double> %v37
}

define internal void @nest1(ptr %status, i64 %first, i64 %last, ptr %b0, ptr %b1, ptr %b2, ptr %b3, ptr %b4, ptr %b5, ptr %b6, ptr %b7, ptr %b8, ptr %b9, ptr %b10) nounwind {
entry:
  %v1 = getelementptr inbounds double, ptr %b0, i64 6
  %v2 = load double, ptr %v1, align 8
  %v3 = call double @llvm.fabs.f64(double %v2)
  %v4 = getelementptr inbounds double, ptr %b0, i64 3
  %v5 = load double, ptr %v4, align 8
  %v6 = call double @llvm.fabs.f64(double %v5)
  %v7 = load double, ptr %b0, align 8
  %v8 = call double @llvm.fabs.f64(double %v7)
  %v9 = fcmp ogt double %v6, %v8
  %v10 = select i1 %v9, double %v5, double %v7
  %v11 = call double @llvm.fabs.f64(double %v10)
  %v12 = fcmp ogt double %v3, %v11
  %v13 = select i1 %v9, double %v5, double %v7
  %v14 = select i1 %v12, double %v2, double %v13
  %v15 = fcmp oeq double %v14, 0x0000000000000000
  %v16 = select i1 %v9, double %v5, double %v7
  %v17 = select i1 %v12, double %v16, double %v2
  %v18 = fcmp oeq double %v14, 0x0000000000000000
  %v19 = select i1 %v18, double 0x3FF0000000000000, double %v14
  %v20 = fdiv double %v17, %v19
  %v21 = getelementptr inbounds double, ptr %b0, i64 7
  %v22 = load double, ptr %v21, align 8
  %v23 = getelementptr inbounds double, ptr %b0, i64 4
  %v24 = load double, ptr %v23, align 8
  %v25 = getelementptr inbounds double, ptr %b0, i64 1
  %v26 = load double, ptr %v25, align 8
  %v27 = select i1 %v9, double %v24, double %v26
  %v28 = select i1 %v12, double %v22, double %v27
  %v29 = fneg double %v20
  %v30 = select i1 %v9, double %v24, double %v26
  %v31 = select i1 %v12, double %v30, double %v22
  %v32 = call double @llvm.fmuladd.f64(double %v29, double %v28, double %v31)
  %v33 = call double @llvm.fabs.f64(double %v32)
  %v34 = select i1 %v9, double %v7, double %v5
  %v35 = fcmp oeq double %v14, 0x0000000000000000
  %v36 = select i1 %v35, double 0x3FF0000000000000, double %v14
  %v37 = fdiv double %v34, %v36
  %v38 = fneg double %v37
  %v39 = select i1 %v9, double %v26, double %v24
  %v40 = call double @llvm.fmuladd.f64(double %v38, double %v28, double %v39)
  %v41 = call double @llvm.fabs.f64(double %v40)
  %v42 = fcmp ogt double %v33, %v41
  %v43 = select i1 %v42, double %v32, double %v40
  %v44 = fcmp oeq double %v43, 0x0000000000000000
  %v45 = or i1 %v15, %v44
  %v46 = select i1 %v42, double %v40, double %v32
  %v47 = fcmp oeq double %v43, 0x0000000000000000
  %v48 = select i1 %v47, double 0x3FF0000000000000, double %v43
  %v49 = fdiv double %v46, %v48
  %v50 = getelementptr inbounds double, ptr %b0, i64 8
  %v51 = load double, ptr %v50, align 8
  %v52 = getelementptr inbounds double, ptr %b0, i64 5
  %v53 = load double, ptr %v52, align 8
  %v54 = getelementptr inbounds double, ptr %b0, i64 2
  %v55 = load double, ptr %v54, align 8
  %v56 = select i1 %v9, double %v53, double %v55
  %v57 = select i1 %v12, double %v51, double %v56
  %v58 = fneg double %v20
  %v59 = select i1 %v9, double %v53, double %v55
  %v60 = select i1 %v12, double %v59, double %v51
  %v61 = call double @llvm.fmuladd.f64(double %v58, double %v57, double %v60)
  %v62 = fneg double %v37
  %v63 = select i1 %v9, double %v55, double %v53
  %v64 = call double @llvm.fmuladd.f64(double %v62, double %v57, double %v63)
  %v65 = select i1 %v42, double %v61, double %v64
  %v66 = fneg double %v49
  %v67 = select i1 %v42, double %v64, double %v61
  %v68 = call double @llvm.fmuladd.f64(double %v66, double %v65, double %v67)
  %v69 = fcmp oeq double %v68, 0x0000000000000000
  %v70 = or i1 %v45, %v69
  %v71 = xor i1 %v70, true
  %v72 = select i1 %v9, double 0x0000000000000000, double 0x0000000000000000
  %v73 = select i1 %v12, double 0x3FF0000000000000, double %v72
  %v74 = fneg double %v20
  %v75 = select i1 %v12, double %v72, double 0x3FF0000000000000
  %v76 = call double @llvm.fmuladd.f64(double %v74, double %v73, double %v75)
  %v77 = select i1 %v9, double 0x0000000000000000, double 0x0000000000000000
  %v78 = select i1 %v12, double 0x3FF0000000000000, double %v77
  %v79 = fneg double %v37
  %v80 = call double @llvm.fmuladd.f64(double %v79, double %v78, double %v77)
  %v81 = select i1 %v42, double %v76, double %v80
  %v82 = fneg double %v49
  %v83 = select i1 %v9, double 0x0000000000000000, double 0x0000000000000000
  %v84 = select i1 %v12, double 0x3FF0000000000000, double %v83
  %v85 = fneg double %v37
  %v86 = call double @llvm.fmuladd.f64(double %v85, double %v84, double %v83)
  %v87 = select i1 %v42, double %v86, double %v76
  %v88 = call double @llvm.fmuladd.f64(double %v82, double %v81, double %v87)
  %v89 = fdiv double %v88, %v68
  %v90 = fneg double %v65
  %v91 = call double @llvm.fmuladd.f64(double %v90, double %v89, double %v81)
  %v92 = fdiv double %v91, %v43
  %v93 = fneg double %v28
  %v94 = fneg double %v57
  %v95 = select i1 %v9, double 0x0000000000000000, double 0x0000000000000000
  %v96 = select i1 %v12, double 0x3FF0000000000000, double %v95
  %v97 = call double @llvm.fmuladd.f64(double %v94, double %v89, double %v96)
  %v98 = call double @llvm.fmuladd.f64(double %v93, double %v92, double %v97)
  %v99 = fdiv double %v98, %v14
  %v100 = select i1 %v9, double 0x3FF0000000000000, double 0x0000000000000000
  %v101 = select i1 %v12, double 0x0000000000000000, double %v100
  %v102 = fneg double %v20
  %v103 = select i1 %v12, double %v100, double 0x0000000000000000
  %v104 = call double @llvm.fmuladd.f64(double %v102, double %v101, double %v103)
  %v105 = select i1 %v9, double 0x3FF0000000000000, double 0x0000000000000000
  %v106 = select i1 %v12, double 0x0000000000000000, double %v105
  %v107 = fneg double %v37
  %v108 = select i1 %v9, double 0x0000000000000000, double 0x3FF0000000000000
  %v109 = call double @llvm.fmuladd.f64(double %v107, double %v106, double %v108)
  %v110 = select i1 %v42, double %v104, double %v109
  %v111 = fneg double %v49
  %v112 = select i1 %v42, double %v109, double %v104
  %v113 = call double @llvm.fmuladd.f64(double %v111, double %v110, double %v112)
  %v114 = fdiv double %v113, %v68
  %v115 = fneg double %v65
  %v116 = select i1 %v42, double %v104, double %v109
  %v117 = call double @llvm.fmuladd.f64(double %v115, double %v114, double %v116)
  %v118 = fdiv double %v117, %v43
  %v119 = fneg double %v28
  %v120 = fneg double %v57
  %v121 = select i1 %v9, double 0x3FF0000000000000, double 0x0000000000000000
  %v122 = select i1 %v12, double 0x0000000000000000, double %v121
  %v123 = call double @llvm.fmuladd.f64(double %v120, double %v114, double %v122)
  %v124 = call double @llvm.fmuladd.f64(double %v119, double %v118, double %v123)
  %v125 = fdiv double %v124, %v14
  %v126 = select i1 %v9, double 0x0000000000000000, double 0x3FF0000000000000
  %v127 = select i1 %v12, double 0x0000000000000000, double %v126
  %v128 = fneg double %v20
  %v129 = select i1 %v12, double %v126, double 0x0000000000000000
  %v130 = call double @llvm.fmuladd.f64(double %v128, double %v127, double %v129)
  %v131 = select i1 %v9, double 0x0000000000000000, double 0x3FF0000000000000
  %v132 = select i1 %v12, double 0x0000000000000000, double %v131
  %v133 = fneg double %v37
  %v134 = select i1 %v9, double 0x3FF0000000000000, double 0x0000000000000000
  %v135 = call double @llvm.fmuladd.f64(double %v133, double %v132, double %v134)
  %v136 = select i1 %v42, double %v130, double %v135
  %v137 = fneg double %v49
  %v138 = select i1 %v42, double %v135, double %v130
  %v139 = call double @llvm.fmuladd.f64(double %v137, double %v136, double %v138)
  %v140 = fdiv double %v139, %v68
  %v141 = fneg double %v65
  %v142 = select i1 %v42, double %v130, double %v135
  %v143 = call double @llvm.fmuladd.f64(double %v141, double %v140, double %v142)
  %v144 = fdiv double %v143, %v43
  %v145 = fneg double %v28
  %v146 = fneg double %v57
  %v147 = select i1 %v9, double 0x0000000000000000, double 0x3FF0000000000000
  %v148 = select i1 %v12, double 0x0000000000000000, double %v147
  %v149 = call double @llvm.fmuladd.f64(double %v146, double %v140, double %v148)
  %v150 = call double @llvm.fmuladd.f64(double %v145, double %v144, double %v149)
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

define internal void @nest2(ptr %status, i64 %first, i64 %last, ptr %b0, ptr %b1, ptr %b2, ptr %b3) nounwind alignstack(64) {
entry:
  %v1 = add <4 x i64> <i64 0, i64 1, i64 2, i64 3>, splat (i64 0)
  %v2 = icmp ult <4 x i64> %v1, splat (i64 1)
  %v3 = and <4 x i1> <i1 true, i1 true, i1 true, i1 false>, %v2
  %v4 = getelementptr inbounds double, ptr %b0, i64 0
  %v5 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %v4, <4 x i1> %v3, <4 x double> splat (double 0x0000000000000000))
  %v6 = xor <4 x i1> %v2, splat (i1 true)
  %v7 = and <4 x i1> <i1 true, i1 true, i1 true, i1 false>, %v6
  %v8 = add <4 x i64> <i64 0, i64 1, i64 2, i64 3>, splat (i64 0)
  %v9 = add <4 x i64> %v8, splat (i64 -1)
  %v10 = icmp ult <4 x i64> %v9, splat (i64 1)
  %v11 = and <4 x i1> %v7, %v10
  %v12 = getelementptr inbounds double, ptr %b1, i64 0
  %v13 = getelementptr inbounds double, ptr %v12, i64 -1
  %v14 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %v13, <4 x i1> %v11, <4 x double> splat (double 0x0000000000000000))
  %v15 = xor <4 x i1> %v10, splat (i1 true)
  %v16 = and <4 x i1> %v7, %v15
  %v17 = getelementptr inbounds double, ptr %b2, i64 0
  %v18 = getelementptr inbounds double, ptr %v17, i64 -2
  %v19 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %v18, <4 x i1> %v16, <4 x double> splat (double 0x0000000000000000))
  %v20 = select <4 x i1> %v10, <4 x double> %v14, <4 x double> %v19
  %v21 = select <4 x i1> %v2, <4 x double> %v5, <4 x double> %v20
  %v22 = getelementptr inbounds double, ptr %b3, i64 0
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v21, ptr align 8 %v22, <4 x i1> <i1 true, i1 true, i1 true, i1 false>)
  ret void
}

define internal void @nest3(ptr %status, i64 %first, i64 %last, ptr %b0, ptr %b1, ptr %b2, ptr %b3) nounwind alignstack(64) {
entry:
  %v1 = add <4 x i64> <i64 0, i64 1, i64 2, i64 3>, splat (i64 0)
  %v2 = icmp ult <4 x i64> %v1, splat (i64 1)
  %v3 = add <4 x i64> <i64 0, i64 1, i64 2, i64 3>, splat (i64 0)
  %v4 = add <4 x i64> %v3, splat (i64 -1)
  %v5 = icmp ult <4 x i64> %v4, splat (i64 1)
  %v6 = load double, ptr %b2, align 8
  %v7 = and <4 x i1> <i1 true, i1 true, i1 true, i1 false>, %v5
  %v8 = load double, ptr %b1, align 8
  %v9 = insertelement <4 x double> poison, double %v8, i64 0
  %v10 = shufflevector <4 x double> %v9, <4 x double> poison, <4 x i32> zeroinitializer
  %v11 = insertelement <4 x double> poison, double %v6, i64 0
  %v12 = shufflevector <4 x double> %v11, <4 x double> poison, <4 x i32> zeroinitializer
  %v13 = select <4 x i1> %v5, <4 x double> %v10, <4 x double> %v12
  %v14 = and <4 x i1> <i1 true, i1 true, i1 true, i1 false>, %v2
  %v15 = load double, ptr %b0, align 8
  %v16 = insertelement <4 x double> poison, double %v15, i64 0
  %v17 = shufflevector <4 x double> %v16, <4 x double> poison, <4 x i32> zeroinitializer
  %v18 = select <4 x i1> %v2, <4 x double> %v17, <4 x double> %v13
  %v19 = getelementptr inbounds double, ptr %b3, i64 0
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v18, ptr align 8 %v19, <4 x i1> <i1 true, i1 true, i1 true, i1 false>)
  ret void
}

define internal void @nest5(ptr %status, i64 %first, i64 %last, ptr %b0, ptr %b1, ptr %b2, ptr %b3, ptr %b4) nounwind alignstack(64) {
entry:
  br label %loop1
loop1:
  %v4 = phi i64 [ 0, %entry ], [ %v44, %good35 ]
  %v5 = icmp slt i64 %v4, 3
  br i1 %v5, label %body2, label %after3
body2:
  %v6 = icmp ult i64 %v4, 1
  br i1 %v6, label %inside7, label %outside8
inside7:
  %v10 = mul i64 %v4, 3
  %v11 = getelementptr inbounds double, ptr %b0, i64 %v10
  %v12 = getelementptr inbounds double, ptr %v11, i64 0
  %v13 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %v12, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x double> splat (double 0x0000000000000000))
  br label %guarded9
outside8:
  %v14 = add i64 %v4, -1
  %v15 = icmp ult i64 %v14, 1
  br i1 %v15, label %inside16, label %outside17
inside16:
  %v19 = mul i64 %v4, 3
  %v20 = getelementptr inbounds double, ptr %b1, i64 %v19
  %v21 = getelementptr inbounds double, ptr %v20, i64 0
  %v22 = getelementptr inbounds double, ptr %v21, i64 -3
  %v23 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %v22, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x double> splat (double 0x0000000000000000))
  br label %guarded18
outside17:
  %v24 = mul i64 %v4, 3
  %v25 = getelementptr inbounds double, ptr %b2, i64 %v24
  %v26 = getelementptr inbounds double, ptr %v25, i64 0
  %v27 = getelementptr inbounds double, ptr %v26, i64 -6
  %v28 = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %v27, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x double> splat (double 0x0000000000000000))
  br label %guarded18
guarded18:
  %v29 = phi <4 x double> [ %v23, %inside16 ], [ %v28, %outside17 ]
  br label %guarded9
guarded9:
  %v30 = phi <4 x double> [ %v13, %inside7 ], [ %v29, %guarded18 ]
  %v31 = load i8, ptr %b3, align 1
  %v32 = trunc i8 %v31 to i1
  %v33 = xor i1 %v32, true
  br i1 %v33, label %bad34, label %good35
bad34:
  %v36 = load i64, ptr %status, align 8
  %v37 = icmp eq i64 %v36, 0
  %v38 = select i1 %v37, i64 1, i64 %v36
  store i64 %v38, ptr %status, align 8
  br label %good35
good35:
  %v39 = call <4 x double> @wengert.tanh.v4f64(<4 x double> %v30)
  %v40 = fadd <4 x double> splat (double 0x0000000000000000), %v39
  %v41 = mul i64 %v4, 3
  %v42 = getelementptr inbounds double, ptr %b4, i64 %v41
  %v43 = getelementptr inbounds double, ptr %v42, i64 0
  call void @llvm.masked.store.v4f64.p0(<4 x double> %v40, ptr align 8 %v43, <4 x i1> <i1 true, i1 true, i1 true, i1 false>)
  %v44 = add nsw i64 %v4, 1
  br label %loop1
after3:
  ret void
}

define void @main(ptr %args, ptr %team) nounwind {
entry:
  %v1 = getelementptr inbounds ptr, ptr %args, i64 0
  %v2 = load ptr, ptr %v1, align 8
  %v3 = getelementptr inbounds ptr, ptr %args, i64 1
  %v4 = load ptr, ptr %v3, align 8
  %v5 = getelementptr inbounds ptr, ptr %args, i64 3
  %v6 = load ptr, ptr %v5, align 8
  %v7 = getelementptr inbounds ptr, ptr %args, i64 4
  %v8 = load ptr, ptr %v7, align 8
  %v9 = getelementptr inbounds i8, ptr %v4, i64 0
  %v10 = getelementptr inbounds i8, ptr %v4, i64 64
  %v11 = getelementptr inbounds i8, ptr %v4, i64 128
  %v12 = getelementptr inbounds i8, ptr %v4, i64 192
  %v13 = getelementptr inbounds i8, ptr %v4, i64 256
  %v14 = getelementptr inbounds i8, ptr %v4, i64 320
  %v15 = getelementptr inbounds i8, ptr %v4, i64 384
  %v16 = getelementptr inbounds i8, ptr %v4, i64 448
  %v17 = getelementptr inbounds i8, ptr %v4, i64 512
  %v18 = getelementptr inbounds i8, ptr %v4, i64 576
  %v19 = getelementptr inbounds i8, ptr %v4, i64 640
  %v20 = getelementptr inbounds i8, ptr %v4, i64 0
  %v21 = getelementptr inbounds i8, ptr %v4, i64 64
  call void @nest1(ptr %v2, i64 0, i64 1, ptr %v6, ptr %v18, ptr %v15, ptr %v12, ptr %v9, ptr %v16, ptr %v13, ptr %v10, ptr %v17, ptr %v14, ptr %v11)
  call void @nest2(ptr %v2, i64 0, i64 1, ptr %v11, ptr %v10, ptr %v9, ptr %v19)
  call void @nest3(ptr %v2, i64 0, i64 1, ptr %v14, ptr %v13, ptr %v12, ptr %v20)
  call void @nest3(ptr %v2, i64 0, i64 1, ptr %v17, ptr %v16, ptr %v15, ptr %v21)
  call void @nest5(ptr %v2, i64 0, i64 1, ptr %v19, ptr %v20, ptr %v21, ptr %v18, ptr %v8)
  ret void
}
