; ModuleID = '<string>'
source_filename = "<string>"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nounwind
declare void @llvm.x86.sse2.pause() #0

declare i64 @syscall(i64, ...)

; Function Attrs: noinline nounwind
define internal void @sleep(ptr %word, i32 %old, ptr %sleepers) #1 {
entry:
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst, align 4
  br label %again

again:                                            ; preds = %again, %entry
  %slept = call i64 (i64, ...) @syscall(i64 202, ptr %word, i32 128, i32 %old, ptr null) #0
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %old
  br i1 %same, label %again, label %done

done:                                             ; preds = %again
  %after = atomicrmw sub ptr %sleepers, i32 1 seq_cst, align 4
  ret void
}

; Function Attrs: noinline nounwind
define internal void @nap(ptr %word, i32 %old, ptr %time) #1 {
  %slept = call i64 (i64, ...) @syscall(i64 202, ptr %word, i32 128, i32 %old, ptr %time) #0
  ret void
}

; Function Attrs: noinline nounwind
define internal void @wake(ptr %word) #1 {
  %woken = call i64 (i64, ...) @syscall(i64 202, ptr %word, i32 129, i32 2147483647) #0
  ret void
}

declare i32 @clock_gettime(i32, ptr)

declare i32 @sched_yield()

; Function Attrs: nounwind
define void @wengert_pause(i64 %count) #0 {
entry:
  %umax = call i64 @llvm.umax.i64(i64 %count, i64 1)
  br label %loop

loop:                                             ; preds = %loop, %entry
  %lsr.iv = phi i64 [ %lsr.iv.next, %loop ], [ %umax, %entry ]
  call void @llvm.x86.sse2.pause()
  %lsr.iv.next = add i64 %lsr.iv, -1
  %exitcond.not = icmp eq i64 %lsr.iv.next, 0
  br i1 %exitcond.not, label %done, label %loop

done:                                             ; preds = %loop
  ret void
}

; Function Attrs: noinline nounwind
define internal i64 @clock() #1 {
  %time = alloca [2 x i64], align 8
  %status = call i32 @clock_gettime(i32 1, ptr nonnull %time) #0
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr inbounds nuw i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}

declare i32 @sched_getcpu()

declare i32 @sched_getaffinity(i32, i64, ptr)

declare i32 @sched_setaffinity(i32, i64, ptr)

; Function Attrs: noinline nounwind
define internal void @leave(i32 %processor) #1 {
entry:
  %allowed = alloca [128 x i8], align 8
  %others = alloca [128 x i8], align 8
  %some = icmp ult i32 %processor, 1024
  br i1 %some, label %ask, label %done

ask:                                              ; preds = %entry
  %asked = call i32 @sched_getaffinity(i32 0, i64 128, ptr nonnull %allowed) #0
  %known = icmp eq i32 %asked, 0
  br i1 %known, label %move, label %done

move:                                             ; preds = %ask
  %all.fca.0.load = load i8, ptr %allowed, align 8
  %all.fca.1.gep2 = getelementptr inbounds nuw i8, ptr %allowed, i64 1
  %all.fca.1.load = load i8, ptr %all.fca.1.gep2, align 1
  %all.fca.2.gep3 = getelementptr inbounds nuw i8, ptr %allowed, i64 2
  %all.fca.2.load = load i8, ptr %all.fca.2.gep3, align 2
  %all.fca.3.gep4 = getelementptr inbounds nuw i8, ptr %allowed, i64 3
  %all.fca.3.load = load i8, ptr %all.fca.3.gep4, align 1
  %all.fca.4.gep5 = getelementptr inbounds nuw i8, ptr %allowed, i64 4
  %all.fca.4.load = load i8, ptr %all.fca.4.gep5, align 4
  %all.fca.5.gep6 = getelementptr inbounds nuw i8, ptr %allowed, i64 5
  %all.fca.5.load = load i8, ptr %all.fca.5.gep6, align 1
  %all.fca.6.gep7 = getelementptr inbounds nuw i8, ptr %allowed, i64 6
  %all.fca.6.load = load i8, ptr %all.fca.6.gep7, align 2
  %all.fca.7.gep8 = getelementptr inbounds nuw i8, ptr %allowed, i64 7
  %all.fca.7.load = load i8, ptr %all.fca.7.gep8, align 1
  %all.fca.8.gep9 = getelementptr inbounds nuw i8, ptr %allowed, i64 8
  %all.fca.8.load = load i8, ptr %all.fca.8.gep9, align 8
  %all.fca.9.gep10 = getelementptr inbounds nuw i8, ptr %allowed, i64 9
  %all.fca.9.load = load i8, ptr %all.fca.9.gep10, align 1
  %all.fca.10.gep11 = getelementptr inbounds nuw i8, ptr %allowed, i64 10
  %all.fca.10.load = load i8, ptr %all.fca.10.gep11, align 2
  %all.fca.11.gep12 = getelementptr inbounds nuw i8, ptr %allowed, i64 11
  %all.fca.11.load = load i8, ptr %all.fca.11.gep12, align 1
  %all.fca.12.gep13 = getelementptr inbounds nuw i8, ptr %allowed, i64 12
  %all.fca.12.load = load i8, ptr %all.fca.12.gep13, align 4
  %all.fca.13.gep14 = getelementptr inbounds nuw i8, ptr %allowed, i64 13
  %all.fca.13.load = load i8, ptr %all.fca.13.gep14, align 1
  %all.fca.14.gep15 = getelementptr inbounds nuw i8, ptr %allowed, i64 14
  %all.fca.14.load = load i8, ptr %all.fca.14.gep15, align 2
  %all.fca.15.gep16 = getelementptr inbounds nuw i8, ptr %allowed, i64 15
  %all.fca.15.load = load i8, ptr %all.fca.15.gep16, align 1
  %all.fca.16.gep17 = getelementptr inbounds nuw i8, ptr %allowed, i64 16
  %all.fca.16.load = load i8, ptr %all.fca.16.gep17, align 8
  %all.fca.17.gep18 = getelementptr inbounds nuw i8, ptr %allowed, i64 17
  %all.fca.17.load = load i8, ptr %all.fca.17.gep18, align 1
  %all.fca.18.gep19 = getelementptr inbounds nuw i8, ptr %allowed, i64 18
  %all.fca.18.load = load i8, ptr %all.fca.18.gep19, align 2
  %all.fca.19.gep20 = getelementptr inbounds nuw i8, ptr %allowed, i64 19
  %all.fca.19.load = load i8, ptr %all.fca.19.gep20, align 1
  %all.fca.20.gep21 = getelementptr inbounds nuw i8, ptr %allowed, i64 20
  %all.fca.20.load = load i8, ptr %all.fca.20.gep21, align 4
  %all.fca.21.gep22 = getelementptr inbounds nuw i8, ptr %allowed, i64 21
  %all.fca.21.load = load i8, ptr %all.fca.21.gep22, align 1
  %all.fca.22.gep23 = getelementptr inbounds nuw i8, ptr %allowed, i64 22
  %all.fca.22.load = load i8, ptr %all.fca.22.gep23, align 2
  %all.fca.23.gep24 = getelementptr inbounds nuw i8, ptr %allowed, i64 23
  %all.fca.23.load = load i8, ptr %all.fca.23.gep24, align 1
  %all.fca.24.gep25 = getelementptr inbounds nuw i8, ptr %allowed, i64 24
  %all.fca.24.load = load i8, ptr %all.fca.24.gep25, align 8
  %all.fca.25.gep26 = getelementptr inbounds nuw i8, ptr %allowed, i64 25
  %all.fca.25.load = load i8, ptr %all.fca.25.gep26, align 1
  %all.fca.26.gep27 = getelementptr inbounds nuw i8, ptr %allowed, i64 26
  %all.fca.26.load = load i8, ptr %all.fca.26.gep27, align 2
  %all.fca.27.gep28 = getelementptr inbounds nuw i8, ptr %allowed, i64 27
  %all.fca.27.load = load i8, ptr %all.fca.27.gep28, align 1
  %all.fca.28.gep29 = getelementptr inbounds nuw i8, ptr %allowed, i64 28
  %all.fca.28.load = load i8, ptr %all.fca.28.gep29, align 4
  %all.fca.29.gep30 = getelementptr inbounds nuw i8, ptr %allowed, i64 29
  %all.fca.29.load = load i8, ptr %all.fca.29.gep30, align 1
  %all.fca.30.gep31 = getelementptr inbounds nuw i8, ptr %allowed, i64 30
  %all.fca.30.load = load i8, ptr %all.fca.30.gep31, align 2
  %all.fca.31.gep32 = getelementptr inbounds nuw i8, ptr %allowed, i64 31
  %all.fca.31.load = load i8, ptr %all.fca.31.gep32, align 1
  %all.fca.32.gep33 = getelementptr inbounds nuw i8, ptr %allowed, i64 32
  %all.fca.32.load = load i8, ptr %all.fca.32.gep33, align 8
  %all.fca.33.gep34 = getelementptr inbounds nuw i8, ptr %allowed, i64 33
  %all.fca.33.load = load i8, ptr %all.fca.33.gep34, align 1
  %all.fca.34.gep35 = getelementptr inbounds nuw i8, ptr %allowed, i64 34
  %all.fca.34.load = load i8, ptr %all.fca.34.gep35, align 2
  %all.fca.35.gep36 = getelementptr inbounds nuw i8, ptr %allowed, i64 35
  %all.fca.35.load = load i8, ptr %all.fca.35.gep36, align 1
  %all.fca.36.gep37 = getelementptr inbounds nuw i8, ptr %allowed, i64 36
  %all.fca.36.load = load i8, ptr %all.fca.36.gep37, align 4
  %all.fca.37.gep38 = getelementptr inbounds nuw i8, ptr %allowed, i64 37
  %all.fca.37.load = load i8, ptr %all.fca.37.gep38, align 1
  %all.fca.38.gep39 = getelementptr inbounds nuw i8, ptr %allowed, i64 38
  %all.fca.38.load = load i8, ptr %all.fca.38.gep39, align 2
  %all.fca.39.gep40 = getelementptr inbounds nuw i8, ptr %allowed, i64 39
  %all.fca.39.load = load i8, ptr %all.fca.39.gep40, align 1
  %all.fca.40.gep41 = getelementptr inbounds nuw i8, ptr %allowed, i64 40
  %all.fca.40.load = load i8, ptr %all.fca.40.gep41, align 8
  %all.fca.41.gep42 = getelementptr inbounds nuw i8, ptr %allowed, i64 41
  %all.fca.41.load = load i8, ptr %all.fca.41.gep42, align 1
  %all.fca.42.gep43 = getelementptr inbounds nuw i8, ptr %allowed, i64 42
  %all.fca.42.load = load i8, ptr %all.fca.42.gep43, align 2
  %all.fca.43.gep44 = getelementptr inbounds nuw i8, ptr %allowed, i64 43
  %all.fca.43.load = load i8, ptr %all.fca.43.gep44, align 1
  %all.fca.44.gep45 = getelementptr inbounds nuw i8, ptr %allowed, i64 44
  %all.fca.44.load = load i8, ptr %all.fca.44.gep45, align 4
  %all.fca.45.gep46 = getelementptr inbounds nuw i8, ptr %allowed, i64 45
  %all.fca.45.load = load i8, ptr %all.fca.45.gep46, align 1
  %all.fca.46.gep47 = getelementptr inbounds nuw i8, ptr %allowed, i64 46
  %all.fca.46.load = load i8, ptr %all.fca.46.gep47, align 2
  %all.fca.47.gep48 = getelementptr inbounds nuw i8, ptr %allowed, i64 47
  %all.fca.47.load = load i8, ptr %all.fca.47.gep48, align 1
  %all.fca.48.gep49 = getelementptr inbounds nuw i8, ptr %allowed, i64 48
  %all.fca.48.load = load i8, ptr %all.fca.48.gep49, align 8
  %all.fca.49.gep50 = getelementptr inbounds nuw i8, ptr %allowed, i64 49
  %all.fca.49.load = load i8, ptr %all.fca.49.gep50, align 1
  %all.fca.50.gep51 = getelementptr inbounds nuw i8, ptr %allowed, i64 50
  %all.fca.50.load = load i8, ptr %all.fca.50.gep51, align 2
  %all.fca.51.gep52 = getelementptr inbounds nuw i8, ptr %allowed, i64 51
  %all.fca.51.load = load i8, ptr %all.fca.51.gep52, align 1
  %all.fca.52.gep53 = getelementptr inbounds nuw i8, ptr %allowed, i64 52
  %all.fca.52.load = load i8, ptr %all.fca.52.gep53, align 4
  %all.fca.53.gep54 = getelementptr inbounds nuw i8, ptr %allowed, i64 53
  %all.fca.53.load = load i8, ptr %all.fca.53.gep54, align 1
  %all.fca.54.gep55 = getelementptr inbounds nuw i8, ptr %allowed, i64 54
  %all.fca.54.load = load i8, ptr %all.fca.54.gep55, align 2
  %all.fca.55.gep56 = getelementptr inbounds nuw i8, ptr %allowed, i64 55
  %all.fca.55.load = load i8, ptr %all.fca.55.gep56, align 1
  %all.fca.56.gep57 = getelementptr inbounds nuw i8, ptr %allowed, i64 56
  %all.fca.56.load = load i8, ptr %all.fca.56.gep57, align 8
  %all.fca.57.gep58 = getelementptr inbounds nuw i8, ptr %allowed, i64 57
  %all.fca.57.load = load i8, ptr %all.fca.57.gep58, align 1
  %all.fca.58.gep59 = getelementptr inbounds nuw i8, ptr %allowed, i64 58
  %all.fca.58.load = load i8, ptr %all.fca.58.gep59, align 2
  %all.fca.59.gep60 = getelementptr inbounds nuw i8, ptr %allowed, i64 59
  %all.fca.59.load = load i8, ptr %all.fca.59.gep60, align 1
  %all.fca.60.gep61 = getelementptr inbounds nuw i8, ptr %allowed, i64 60
  %all.fca.60.load = load i8, ptr %all.fca.60.gep61, align 4
  %all.fca.61.gep62 = getelementptr inbounds nuw i8, ptr %allowed, i64 61
  %all.fca.61.load = load i8, ptr %all.fca.61.gep62, align 1
  %all.fca.62.gep63 = getelementptr inbounds nuw i8, ptr %allowed, i64 62
  %all.fca.62.load = load i8, ptr %all.fca.62.gep63, align 2
  %all.fca.63.gep64 = getelementptr inbounds nuw i8, ptr %allowed, i64 63
  %all.fca.63.load = load i8, ptr %all.fca.63.gep64, align 1
  %all.fca.64.gep65 = getelementptr inbounds nuw i8, ptr %allowed, i64 64
  %all.fca.64.load = load i8, ptr %all.fca.64.gep65, align 8
  %all.fca.65.gep66 = getelementptr inbounds nuw i8, ptr %allowed, i64 65
  %all.fca.65.load = load i8, ptr %all.fca.65.gep66, align 1
  %all.fca.66.gep67 = getelementptr inbounds nuw i8, ptr %allowed, i64 66
  %all.fca.66.load = load i8, ptr %all.fca.66.gep67, align 2
  %all.fca.67.gep68 = getelementptr inbounds nuw i8, ptr %allowed, i64 67
  %all.fca.67.load = load i8, ptr %all.fca.67.gep68, align 1
  %all.fca.68.gep69 = getelementptr inbounds nuw i8, ptr %allowed, i64 68
  %all.fca.68.load = load i8, ptr %all.fca.68.gep69, align 4
  %all.fca.69.gep70 = getelementptr inbounds nuw i8, ptr %allowed, i64 69
  %all.fca.69.load = load i8, ptr %all.fca.69.gep70, align 1
  %all.fca.70.gep71 = getelementptr inbounds nuw i8, ptr %allowed, i64 70
  %all.fca.70.load = load i8, ptr %all.fca.70.gep71, align 2
  %all.fca.71.gep72 = getelementptr inbounds nuw i8, ptr %allowed, i64 71
  %all.fca.71.load = load i8, ptr %all.fca.71.gep72, align 1
  %all.fca.72.gep73 = getelementptr inbounds nuw i8, ptr %allowed, i64 72
  %all.fca.72.load = load i8, ptr %all.fca.72.gep73, align 8
  %all.fca.73.gep74 = getelementptr inbounds nuw i8, ptr %allowed, i64 73
  %all.fca.73.load = load i8, ptr %all.fca.73.gep74, align 1
  %all.fca.74.gep75 = getelementptr inbounds nuw i8, ptr %allowed, i64 74
  %all.fca.74.load = load i8, ptr %all.fca.74.gep75, align 2
  %all.fca.75.gep76 = getelementptr inbounds nuw i8, ptr %allowed, i64 75
  %all.fca.75.load = load i8, ptr %all.fca.75.gep76, align 1
  %all.fca.76.gep77 = getelementptr inbounds nuw i8, ptr %allowed, i64 76
  %all.fca.76.load = load i8, ptr %all.fca.76.gep77, align 4
  %all.fca.77.gep78 = getelementptr inbounds nuw i8, ptr %allowed, i64 77
  %all.fca.77.load = load i8, ptr %all.fca.77.gep78, align 1
  %all.fca.78.gep79 = getelementptr inbounds nuw i8, ptr %allowed, i64 78
  %all.fca.78.load = load i8, ptr %all.fca.78.gep79, align 2
  %all.fca.79.gep80 = getelementptr inbounds nuw i8, ptr %allowed, i64 79
  %all.fca.79.load = load i8, ptr %all.fca.79.gep80, align 1
  %all.fca.80.gep81 = getelementptr inbounds nuw i8, ptr %allowed, i64 80
  %all.fca.80.load = load i8, ptr %all.fca.80.gep81, align 8
  %all.fca.81.gep82 = getelementptr inbounds nuw i8, ptr %allowed, i64 81
  %all.fca.81.load = load i8, ptr %all.fca.81.gep82, align 1
  %all.fca.82.gep83 = getelementptr inbounds nuw i8, ptr %allowed, i64 82
  %all.fca.82.load = load i8, ptr %all.fca.82.gep83, align 2
  %all.fca.83.gep84 = getelementptr inbounds nuw i8, ptr %allowed, i64 83
  %all.fca.83.load = load i8, ptr %all.fca.83.gep84, align 1
  %all.fca.84.gep85 = getelementptr inbounds nuw i8, ptr %allowed, i64 84
  %all.fca.84.load = load i8, ptr %all.fca.84.gep85, align 4
  %all.fca.85.gep86 = getelementptr inbounds nuw i8, ptr %allowed, i64 85
  %all.fca.85.load = load i8, ptr %all.fca.85.gep86, align 1
  %all.fca.86.gep87 = getelementptr inbounds nuw i8, ptr %allowed, i64 86
  %all.fca.86.load = load i8, ptr %all.fca.86.gep87, align 2
  %all.fca.87.gep88 = getelementptr inbounds nuw i8, ptr %allowed, i64 87
  %all.fca.87.load = load i8, ptr %all.fca.87.gep88, align 1
  %all.fca.88.gep89 = getelementptr inbounds nuw i8, ptr %allowed, i64 88
  %all.fca.88.load = load i8, ptr %all.fca.88.gep89, align 8
  %all.fca.89.gep90 = getelementptr inbounds nuw i8, ptr %allowed, i64 89
  %all.fca.89.load = load i8, ptr %all.fca.89.gep90, align 1
  %all.fca.90.gep91 = getelementptr inbounds nuw i8, ptr %allowed, i64 90
  %all.fca.90.load = load i8, ptr %all.fca.90.gep91, align 2
  %all.fca.91.gep92 = getelementptr inbounds nuw i8, ptr %allowed, i64 91
  %all.fca.91.load = load i8, ptr %all.fca.91.gep92, align 1
  %all.fca.92.gep93 = getelementptr inbounds nuw i8, ptr %allowed, i64 92
  %all.fca.92.load = load i8, ptr %all.fca.92.gep93, align 4
  %all.fca.93.gep94 = getelementptr inbounds nuw i8, ptr %allowed, i64 93
  %all.fca.93.load = load i8, ptr %all.fca.93.gep94, align 1
  %all.fca.94.gep95 = getelementptr inbounds nuw i8, ptr %allowed, i64 94
  %all.fca.94.load = load i8, ptr %all.fca.94.gep95, align 2
  %all.fca.95.gep96 = getelementptr inbounds nuw i8, ptr %allowed, i64 95
  %all.fca.95.load = load i8, ptr %all.fca.95.gep96, align 1
  %all.fca.96.gep97 = getelementptr inbounds nuw i8, ptr %allowed, i64 96
  %all.fca.96.load = load i8, ptr %all.fca.96.gep97, align 8
  %all.fca.97.gep98 = getelementptr inbounds nuw i8, ptr %allowed, i64 97
  %all.fca.97.load = load i8, ptr %all.fca.97.gep98, align 1
  %all.fca.98.gep99 = getelementptr inbounds nuw i8, ptr %allowed, i64 98
  %all.fca.98.load = load i8, ptr %all.fca.98.gep99, align 2
  %all.fca.99.gep100 = getelementptr inbounds nuw i8, ptr %allowed, i64 99
  %all.fca.99.load = load i8, ptr %all.fca.99.gep100, align 1
  %all.fca.100.gep101 = getelementptr inbounds nuw i8, ptr %allowed, i64 100
  %all.fca.100.load = load i8, ptr %all.fca.100.gep101, align 4
  %all.fca.101.gep102 = getelementptr inbounds nuw i8, ptr %allowed, i64 101
  %all.fca.101.load = load i8, ptr %all.fca.101.gep102, align 1
  %all.fca.102.gep103 = getelementptr inbounds nuw i8, ptr %allowed, i64 102
  %all.fca.102.load = load i8, ptr %all.fca.102.gep103, align 2
  %all.fca.103.gep104 = getelementptr inbounds nuw i8, ptr %allowed, i64 103
  %all.fca.103.load = load i8, ptr %all.fca.103.gep104, align 1
  %all.fca.104.gep105 = getelementptr inbounds nuw i8, ptr %allowed, i64 104
  %all.fca.104.load = load i8, ptr %all.fca.104.gep105, align 8
  %all.fca.105.gep106 = getelementptr inbounds nuw i8, ptr %allowed, i64 105
  %all.fca.105.load = load i8, ptr %all.fca.105.gep106, align 1
  %all.fca.106.gep107 = getelementptr inbounds nuw i8, ptr %allowed, i64 106
  %all.fca.106.load = load i8, ptr %all.fca.106.gep107, align 2
  %all.fca.107.gep108 = getelementptr inbounds nuw i8, ptr %allowed, i64 107
  %all.fca.107.load = load i8, ptr %all.fca.107.gep108, align 1
  %all.fca.108.gep109 = getelementptr inbounds nuw i8, ptr %allowed, i64 108
  %all.fca.108.load = load i8, ptr %all.fca.108.gep109, align 4
  %all.fca.109.gep110 = getelementptr inbounds nuw i8, ptr %allowed, i64 109
  %all.fca.109.load = load i8, ptr %all.fca.109.gep110, align 1
  %all.fca.110.gep111 = getelementptr inbounds nuw i8, ptr %allowed, i64 110
  %all.fca.110.load = load i8, ptr %all.fca.110.gep111, align 2
  %all.fca.111.gep112 = getelementptr inbounds nuw i8, ptr %allowed, i64 111
  %all.fca.111.load = load i8, ptr %all.fca.111.gep112, align 1
  %all.fca.112.gep113 = getelementptr inbounds nuw i8, ptr %allowed, i64 112
  %all.fca.112.load = load i8, ptr %all.fca.112.gep113, align 8
  %all.fca.113.gep114 = getelementptr inbounds nuw i8, ptr %allowed, i64 113
  %all.fca.113.load = load i8, ptr %all.fca.113.gep114, align 1
  %all.fca.114.gep115 = getelementptr inbounds nuw i8, ptr %allowed, i64 114
  %all.fca.114.load = load i8, ptr %all.fca.114.gep115, align 2
  %all.fca.115.gep116 = getelementptr inbounds nuw i8, ptr %allowed, i64 115
  %all.fca.115.load = load i8, ptr %all.fca.115.gep116, align 1
  %all.fca.116.gep117 = getelementptr inbounds nuw i8, ptr %allowed, i64 116
  %all.fca.116.load = load i8, ptr %all.fca.116.gep117, align 4
  %all.fca.117.gep118 = getelementptr inbounds nuw i8, ptr %allowed, i64 117
  %all.fca.117.load = load i8, ptr %all.fca.117.gep118, align 1
  %all.fca.118.gep119 = getelementptr inbounds nuw i8, ptr %allowed, i64 118
  %all.fca.118.load = load i8, ptr %all.fca.118.gep119, align 2
  %all.fca.119.gep120 = getelementptr inbounds nuw i8, ptr %allowed, i64 119
  %all.fca.119.load = load i8, ptr %all.fca.119.gep120, align 1
  %all.fca.120.gep121 = getelementptr inbounds nuw i8, ptr %allowed, i64 120
  %all.fca.120.load = load i8, ptr %all.fca.120.gep121, align 8
  %all.fca.121.gep122 = getelementptr inbounds nuw i8, ptr %allowed, i64 121
  %all.fca.121.load = load i8, ptr %all.fca.121.gep122, align 1
  %all.fca.122.gep123 = getelementptr inbounds nuw i8, ptr %allowed, i64 122
  %all.fca.122.load = load i8, ptr %all.fca.122.gep123, align 2
  %all.fca.123.gep124 = getelementptr inbounds nuw i8, ptr %allowed, i64 123
  %all.fca.123.load = load i8, ptr %all.fca.123.gep124, align 1
  %all.fca.124.gep125 = getelementptr inbounds nuw i8, ptr %allowed, i64 124
  %all.fca.124.load = load i8, ptr %all.fca.124.gep125, align 4
  %all.fca.125.gep126 = getelementptr inbounds nuw i8, ptr %allowed, i64 125
  %all.fca.125.load = load i8, ptr %all.fca.125.gep126, align 1
  %all.fca.126.gep127 = getelementptr inbounds nuw i8, ptr %allowed, i64 126
  %all.fca.126.load = load i8, ptr %all.fca.126.gep127, align 2
  %all.fca.127.gep128 = getelementptr inbounds nuw i8, ptr %allowed, i64 127
  %all.fca.127.load = load i8, ptr %all.fca.127.gep128, align 1
  store i8 %all.fca.0.load, ptr %others, align 8
  %all.fca.1.gep = getelementptr inbounds nuw i8, ptr %others, i64 1
  store i8 %all.fca.1.load, ptr %all.fca.1.gep, align 1
  %all.fca.2.gep = getelementptr inbounds nuw i8, ptr %others, i64 2
  store i8 %all.fca.2.load, ptr %all.fca.2.gep, align 2
  %all.fca.3.gep = getelementptr inbounds nuw i8, ptr %others, i64 3
  store i8 %all.fca.3.load, ptr %all.fca.3.gep, align 1
  %all.fca.4.gep = getelementptr inbounds nuw i8, ptr %others, i64 4
  store i8 %all.fca.4.load, ptr %all.fca.4.gep, align 4
  %all.fca.5.gep = getelementptr inbounds nuw i8, ptr %others, i64 5
  store i8 %all.fca.5.load, ptr %all.fca.5.gep, align 1
  %all.fca.6.gep = getelementptr inbounds nuw i8, ptr %others, i64 6
  store i8 %all.fca.6.load, ptr %all.fca.6.gep, align 2
  %all.fca.7.gep = getelementptr inbounds nuw i8, ptr %others, i64 7
  store i8 %all.fca.7.load, ptr %all.fca.7.gep, align 1
  %all.fca.8.gep = getelementptr inbounds nuw i8, ptr %others, i64 8
  store i8 %all.fca.8.load, ptr %all.fca.8.gep, align 8
  %all.fca.9.gep = getelementptr inbounds nuw i8, ptr %others, i64 9
  store i8 %all.fca.9.load, ptr %all.fca.9.gep, align 1
  %all.fca.10.gep = getelementptr inbounds nuw i8, ptr %others, i64 10
  store i8 %all.fca.10.load, ptr %all.fca.10.gep, align 2
  %all.fca.11.gep = getelementptr inbounds nuw i8, ptr %others, i64 11
  store i8 %all.fca.11.load, ptr %all.fca.11.gep, align 1
  %all.fca.12.gep = getelementptr inbounds nuw i8, ptr %others, i64 12
  store i8 %all.fca.12.load, ptr %all.fca.12.gep, align 4
  %all.fca.13.gep = getelementptr inbounds nuw i8, ptr %others, i64 13
  store i8 %all.fca.13.load, ptr %all.fca.13.gep, align 1
  %all.fca.14.gep = getelementptr inbounds nuw i8, ptr %others, i64 14
  store i8 %all.fca.14.load, ptr %all.fca.14.gep, align 2
  %all.fca.15.gep = getelementptr inbounds nuw i8, ptr %others, i64 15
  store i8 %all.fca.15.load, ptr %all.fca.15.gep, align 1
  %all.fca.16.gep = getelementptr inbounds nuw i8, ptr %others, i64 16
  store i8 %all.fca.16.load, ptr %all.fca.16.gep, align 8
  %all.fca.17.gep = getelementptr inbounds nuw i8, ptr %others, i64 17
  store i8 %all.fca.17.load, ptr %all.fca.17.gep, align 1
  %all.fca.18.gep = getelementptr inbounds nuw i8, ptr %others, i64 18
  store i8 %all.fca.18.load, ptr %all.fca.18.gep, align 2
  %all.fca.19.gep = getelementptr inbounds nuw i8, ptr %others, i64 19
  store i8 %all.fca.19.load, ptr %all.fca.19.gep, align 1
  %all.fca.20.gep = getelementptr inbounds nuw i8, ptr %others, i64 20
  store i8 %all.fca.20.load, ptr %all.fca.20.gep, align 4
  %all.fca.21.gep = getelementptr inbounds nuw i8, ptr %others, i64 21
  store i8 %all.fca.21.load, ptr %all.fca.21.gep, align 1
  %all.fca.22.gep = getelementptr inbounds nuw i8, ptr %others, i64 22
  store i8 %all.fca.22.load, ptr %all.fca.22.gep, align 2
  %all.fca.23.gep = getelementptr inbounds nuw i8, ptr %others, i64 23
  store i8 %all.fca.23.load, ptr %all.fca.23.gep, align 1
  %all.fca.24.gep = getelementptr inbounds nuw i8, ptr %others, i64 24
  store i8 %all.fca.24.load, ptr %all.fca.24.gep, align 8
  %all.fca.25.gep = getelementptr inbounds nuw i8, ptr %others, i64 25
  store i8 %all.fca.25.load, ptr %all.fca.25.gep, align 1
  %all.fca.26.gep = getelementptr inbounds nuw i8, ptr %others, i64 26
  store i8 %all.fca.26.load, ptr %all.fca.26.gep, align 2
  %all.fca.27.gep = getelementptr inbounds nuw i8, ptr %others, i64 27
  store i8 %all.fca.27.load, ptr %all.fca.27.gep, align 1
  %all.fca.28.gep = getelementptr inbounds nuw i8, ptr %others, i64 28
  store i8 %all.fca.28.load, ptr %all.fca.28.gep, align 4
  %all.fca.29.gep = getelementptr inbounds nuw i8, ptr %others, i64 29
  store i8 %all.fca.29.load, ptr %all.fca.29.gep, align 1
  %all.fca.30.gep = getelementptr inbounds nuw i8, ptr %others, i64 30
  store i8 %all.fca.30.load, ptr %all.fca.30.gep, align 2
  %all.fca.31.gep = getelementptr inbounds nuw i8, ptr %others, i64 31
  store i8 %all.fca.31.load, ptr %all.fca.31.gep, align 1
  %all.fca.32.gep = getelementptr inbounds nuw i8, ptr %others, i64 32
  store i8 %all.fca.32.load, ptr %all.fca.32.gep, align 8
  %all.fca.33.gep = getelementptr inbounds nuw i8, ptr %others, i64 33
  store i8 %all.fca.33.load, ptr %all.fca.33.gep, align 1
  %all.fca.34.gep = getelementptr inbounds nuw i8, ptr %others, i64 34
  store i8 %all.fca.34.load, ptr %all.fca.34.gep, align 2
  %all.fca.35.gep = getelementptr inbounds nuw i8, ptr %others, i64 35
  store i8 %all.fca.35.load, ptr %all.fca.35.gep, align 1
  %all.fca.36.gep = getelementptr inbounds nuw i8, ptr %others, i64 36
  store i8 %all.fca.36.load, ptr %all.fca.36.gep, align 4
  %all.fca.37.gep = getelementptr inbounds nuw i8, ptr %others, i64 37
  store i8 %all.fca.37.load, ptr %all.fca.37.gep, align 1
  %all.fca.38.gep = getelementptr inbounds nuw i8, ptr %others, i64 38
  store i8 %all.fca.38.load, ptr %all.fca.38.gep, align 2
  %all.fca.39.gep = getelementptr inbounds nuw i8, ptr %others, i64 39
  store i8 %all.fca.39.load, ptr %all.fca.39.gep, align 1
  %all.fca.40.gep = getelementptr inbounds nuw i8, ptr %others, i64 40
  store i8 %all.fca.40.load, ptr %all.fca.40.gep, align 8
  %all.fca.41.gep = getelementptr inbounds nuw i8, ptr %others, i64 41
  store i8 %all.fca.41.load, ptr %all.fca.41.gep, align 1
  %all.fca.42.gep = getelementptr inbounds nuw i8, ptr %others, i64 42
  store i8 %all.fca.42.load, ptr %all.fca.42.gep, align 2
  %all.fca.43.gep = getelementptr inbounds nuw i8, ptr %others, i64 43
  store i8 %all.fca.43.load, ptr %all.fca.43.gep, align 1
  %all.fca.44.gep = getelementptr inbounds nuw i8, ptr %others, i64 44
  store i8 %all.fca.44.load, ptr %all.fca.44.gep, align 4
  %all.fca.45.gep = getelementptr inbounds nuw i8, ptr %others, i64 45
  store i8 %all.fca.45.load, ptr %all.fca.45.gep, align 1
  %all.fca.46.gep = getelementptr inbounds nuw i8, ptr %others, i64 46
  store i8 %all.fca.46.load, ptr %all.fca.46.gep, align 2
  %all.fca.47.gep = getelementptr inbounds nuw i8, ptr %others, i64 47
  store i8 %all.fca.47.load, ptr %all.fca.47.gep, align 1
  %all.fca.48.gep = getelementptr inbounds nuw i8, ptr %others, i64 48
  store i8 %all.fca.48.load, ptr %all.fca.48.gep, align 8
  %all.fca.49.gep = getelementptr inbounds nuw i8, ptr %others, i64 49
  store i8 %all.fca.49.load, ptr %all.fca.49.gep, align 1
  %all.fca.50.gep = getelementptr inbounds nuw i8, ptr %others, i64 50
  store i8 %all.fca.50.load, ptr %all.fca.50.gep, align 2
  %all.fca.51.gep = getelementptr inbounds nuw i8, ptr %others, i64 51
  store i8 %all.fca.51.load, ptr %all.fca.51.gep, align 1
  %all.fca.52.gep = getelementptr inbounds nuw i8, ptr %others, i64 52
  store i8 %all.fca.52.load, ptr %all.fca.52.gep, align 4
  %all.fca.53.gep = getelementptr inbounds nuw i8, ptr %others, i64 53
  store i8 %all.fca.53.load, ptr %all.fca.53.gep, align 1
  %all.fca.54.gep = getelementptr inbounds nuw i8, ptr %others, i64 54
  store i8 %all.fca.54.load, ptr %all.fca.54.gep, align 2
  %all.fca.55.gep = getelementptr inbounds nuw i8, ptr %others, i64 55
  store i8 %all.fca.55.load, ptr %all.fca.55.gep, align 1
  %all.fca.56.gep = getelementptr inbounds nuw i8, ptr %others, i64 56
  store i8 %all.fca.56.load, ptr %all.fca.56.gep, align 8
  %all.fca.57.gep = getelementptr inbounds nuw i8, ptr %others, i64 57
  store i8 %all.fca.57.load, ptr %all.fca.57.gep, align 1
  %all.fca.58.gep = getelementptr inbounds nuw i8, ptr %others, i64 58
  store i8 %all.fca.58.load, ptr %all.fca.58.gep, align 2
  %all.fca.59.gep = getelementptr inbounds nuw i8, ptr %others, i64 59
  store i8 %all.fca.59.load, ptr %all.fca.59.gep, align 1
  %all.fca.60.gep = getelementptr inbounds nuw i8, ptr %others, i64 60
  store i8 %all.fca.60.load, ptr %all.fca.60.gep, align 4
  %all.fca.61.gep = getelementptr inbounds nuw i8, ptr %others, i64 61
  store i8 %all.fca.61.load, ptr %all.fca.61.gep, align 1
  %all.fca.62.gep = getelementptr inbounds nuw i8, ptr %others, i64 62
  store i8 %all.fca.62.load, ptr %all.fca.62.gep, align 2
  %all.fca.63.gep = getelementptr inbounds nuw i8, ptr %others, i64 63
  store i8 %all.fca.63.load, ptr %all.fca.63.gep, align 1
  %all.fca.64.gep = getelementptr inbounds nuw i8, ptr %others, i64 64
  store i8 %all.fca.64.load, ptr %all.fca.64.gep, align 8
  %all.fca.65.gep = getelementptr inbounds nuw i8, ptr %others, i64 65
  store i8 %all.fca.65.load, ptr %all.fca.65.gep, align 1
  %all.fca.66.gep = getelementptr inbounds nuw i8, ptr %others, i64 66
  store i8 %all.fca.66.load, ptr %all.fca.66.gep, align 2
  %all.fca.67.gep = getelementptr inbounds nuw i8, ptr %others, i64 67
  store i8 %all.fca.67.load, ptr %all.fca.67.gep, align 1
  %all.fca.68.gep = getelementptr inbounds nuw i8, ptr %others, i64 68
  store i8 %all.fca.68.load, ptr %all.fca.68.gep, align 4
  %all.fca.69.gep = getelementptr inbounds nuw i8, ptr %others, i64 69
  store i8 %all.fca.69.load, ptr %all.fca.69.gep, align 1
  %all.fca.70.gep = getelementptr inbounds nuw i8, ptr %others, i64 70
  store i8 %all.fca.70.load, ptr %all.fca.70.gep, align 2
  %all.fca.71.gep = getelementptr inbounds nuw i8, ptr %others, i64 71
  store i8 %all.fca.71.load, ptr %all.fca.71.gep, align 1
  %all.fca.72.gep = getelementptr inbounds nuw i8, ptr %others, i64 72
  store i8 %all.fca.72.load, ptr %all.fca.72.gep, align 8
  %all.fca.73.gep = getelementptr inbounds nuw i8, ptr %others, i64 73
  store i8 %all.fca.73.load, ptr %all.fca.73.gep, align 1
  %all.fca.74.gep = getelementptr inbounds nuw i8, ptr %others, i64 74
  store i8 %all.fca.74.load, ptr %all.fca.74.gep, align 2
  %all.fca.75.gep = getelementptr inbounds nuw i8, ptr %others, i64 75
  store i8 %all.fca.75.load, ptr %all.fca.75.gep, align 1
  %all.fca.76.gep = getelementptr inbounds nuw i8, ptr %others, i64 76
  store i8 %all.fca.76.load, ptr %all.fca.76.gep, align 4
  %all.fca.77.gep = getelementptr inbounds nuw i8, ptr %others, i64 77
  store i8 %all.fca.77.load, ptr %all.fca.77.gep, align 1
  %all.fca.78.gep = getelementptr inbounds nuw i8, ptr %others, i64 78
  store i8 %all.fca.78.load, ptr %all.fca.78.gep, align 2
  %all.fca.79.gep = getelementptr inbounds nuw i8, ptr %others, i64 79
  store i8 %all.fca.79.load, ptr %all.fca.79.gep, align 1
  %all.fca.80.gep = getelementptr inbounds nuw i8, ptr %others, i64 80
  store i8 %all.fca.80.load, ptr %all.fca.80.gep, align 8
  %all.fca.81.gep = getelementptr inbounds nuw i8, ptr %others, i64 81
  store i8 %all.fca.81.load, ptr %all.fca.81.gep, align 1
  %all.fca.82.gep = getelementptr inbounds nuw i8, ptr %others, i64 82
  store i8 %all.fca.82.load, ptr %all.fca.82.gep, align 2
  %all.fca.83.gep = getelementptr inbounds nuw i8, ptr %others, i64 83
  store i8 %all.fca.83.load, ptr %all.fca.83.gep, align 1
  %all.fca.84.gep = getelementptr inbounds nuw i8, ptr %others, i64 84
  store i8 %all.fca.84.load, ptr %all.fca.84.gep, align 4
  %all.fca.85.gep = getelementptr inbounds nuw i8, ptr %others, i64 85
  store i8 %all.fca.85.load, ptr %all.fca.85.gep, align 1
  %all.fca.86.gep = getelementptr inbounds nuw i8, ptr %others, i64 86
  store i8 %all.fca.86.load, ptr %all.fca.86.gep, align 2
  %all.fca.87.gep = getelementptr inbounds nuw i8, ptr %others, i64 87
  store i8 %all.fca.87.load, ptr %all.fca.87.gep, align 1
  %all.fca.88.gep = getelementptr inbounds nuw i8, ptr %others, i64 88
  store i8 %all.fca.88.load, ptr %all.fca.88.gep, align 8
  %all.fca.89.gep = getelementptr inbounds nuw i8, ptr %others, i64 89
  store i8 %all.fca.89.load, ptr %all.fca.89.gep, align 1
  %all.fca.90.gep = getelementptr inbounds nuw i8, ptr %others, i64 90
  store i8 %all.fca.90.load, ptr %all.fca.90.gep, align 2
  %all.fca.91.gep = getelementptr inbounds nuw i8, ptr %others, i64 91
  store i8 %all.fca.91.load, ptr %all.fca.91.gep, align 1
  %all.fca.92.gep = getelementptr inbounds nuw i8, ptr %others, i64 92
  store i8 %all.fca.92.load, ptr %all.fca.92.gep, align 4
  %all.fca.93.gep = getelementptr inbounds nuw i8, ptr %others, i64 93
  store i8 %all.fca.93.load, ptr %all.fca.93.gep, align 1
  %all.fca.94.gep = getelementptr inbounds nuw i8, ptr %others, i64 94
  store i8 %all.fca.94.load, ptr %all.fca.94.gep, align 2
  %all.fca.95.gep = getelementptr inbounds nuw i8, ptr %others, i64 95
  store i8 %all.fca.95.load, ptr %all.fca.95.gep, align 1
  %all.fca.96.gep = getelementptr inbounds nuw i8, ptr %others, i64 96
  store i8 %all.fca.96.load, ptr %all.fca.96.gep, align 8
  %all.fca.97.gep = getelementptr inbounds nuw i8, ptr %others, i64 97
  store i8 %all.fca.97.load, ptr %all.fca.97.gep, align 1
  %all.fca.98.gep = getelementptr inbounds nuw i8, ptr %others, i64 98
  store i8 %all.fca.98.load, ptr %all.fca.98.gep, align 2
  %all.fca.99.gep = getelementptr inbounds nuw i8, ptr %others, i64 99
  store i8 %all.fca.99.load, ptr %all.fca.99.gep, align 1
  %all.fca.100.gep = getelementptr inbounds nuw i8, ptr %others, i64 100
  store i8 %all.fca.100.load, ptr %all.fca.100.gep, align 4
  %all.fca.101.gep = getelementptr inbounds nuw i8, ptr %others, i64 101
  store i8 %all.fca.101.load, ptr %all.fca.101.gep, align 1
  %all.fca.102.gep = getelementptr inbounds nuw i8, ptr %others, i64 102
  store i8 %all.fca.102.load, ptr %all.fca.102.gep, align 2
  %all.fca.103.gep = getelementptr inbounds nuw i8, ptr %others, i64 103
  store i8 %all.fca.103.load, ptr %all.fca.103.gep, align 1
  %all.fca.104.gep = getelementptr inbounds nuw i8, ptr %others, i64 104
  store i8 %all.fca.104.load, ptr %all.fca.104.gep, align 8
  %all.fca.105.gep = getelementptr inbounds nuw i8, ptr %others, i64 105
  store i8 %all.fca.105.load, ptr %all.fca.105.gep, align 1
  %all.fca.106.gep = getelementptr inbounds nuw i8, ptr %others, i64 106
  store i8 %all.fca.106.load, ptr %all.fca.106.gep, align 2
  %all.fca.107.gep = getelementptr inbounds nuw i8, ptr %others, i64 107
  store i8 %all.fca.107.load, ptr %all.fca.107.gep, align 1
  %all.fca.108.gep = getelementptr inbounds nuw i8, ptr %others, i64 108
  store i8 %all.fca.108.load, ptr %all.fca.108.gep, align 4
  %all.fca.109.gep = getelementptr inbounds nuw i8, ptr %others, i64 109
  store i8 %all.fca.109.load, ptr %all.fca.109.gep, align 1
  %all.fca.110.gep = getelementptr inbounds nuw i8, ptr %others, i64 110
  store i8 %all.fca.110.load, ptr %all.fca.110.gep, align 2
  %all.fca.111.gep = getelementptr inbounds nuw i8, ptr %others, i64 111
  store i8 %all.fca.111.load, ptr %all.fca.111.gep, align 1
  %all.fca.112.gep = getelementptr inbounds nuw i8, ptr %others, i64 112
  store i8 %all.fca.112.load, ptr %all.fca.112.gep, align 8
  %all.fca.113.gep = getelementptr inbounds nuw i8, ptr %others, i64 113
  store i8 %all.fca.113.load, ptr %all.fca.113.gep, align 1
  %all.fca.114.gep = getelementptr inbounds nuw i8, ptr %others, i64 114
  store i8 %all.fca.114.load, ptr %all.fca.114.gep, align 2
  %all.fca.115.gep = getelementptr inbounds nuw i8, ptr %others, i64 115
  store i8 %all.fca.115.load, ptr %all.fca.115.gep, align 1
  %all.fca.116.gep = getelementptr inbounds nuw i8, ptr %others, i64 116
  store i8 %all.fca.116.load, ptr %all.fca.116.gep, align 4
  %all.fca.117.gep = getelementptr inbounds nuw i8, ptr %others, i64 117
  store i8 %all.fca.117.load, ptr %all.fca.117.gep, align 1
  %all.fca.118.gep = getelementptr inbounds nuw i8, ptr %others, i64 118
  store i8 %all.fca.118.load, ptr %all.fca.118.gep, align 2
  %all.fca.119.gep = getelementptr inbounds nuw i8, ptr %others, i64 119
  store i8 %all.fca.119.load, ptr %all.fca.119.gep, align 1
  %all.fca.120.gep = getelementptr inbounds nuw i8, ptr %others, i64 120
  store i8 %all.fca.120.load, ptr %all.fca.120.gep, align 8
  %all.fca.121.gep = getelementptr inbounds nuw i8, ptr %others, i64 121
  store i8 %all.fca.121.load, ptr %all.fca.121.gep, align 1
  %all.fca.122.gep = getelementptr inbounds nuw i8, ptr %others, i64 122
  store i8 %all.fca.122.load, ptr %all.fca.122.gep, align 2
  %all.fca.123.gep = getelementptr inbounds nuw i8, ptr %others, i64 123
  store i8 %all.fca.123.load, ptr %all.fca.123.gep, align 1
  %all.fca.124.gep = getelementptr inbounds nuw i8, ptr %others, i64 124
  store i8 %all.fca.124.load, ptr %all.fca.124.gep, align 4
  %all.fca.125.gep = getelementptr inbounds nuw i8, ptr %others, i64 125
  store i8 %all.fca.125.load, ptr %all.fca.125.gep, align 1
  %all.fca.126.gep = getelementptr inbounds nuw i8, ptr %others, i64 126
  store i8 %all.fca.126.load, ptr %all.fca.126.gep, align 2
  %all.fca.127.gep = getelementptr inbounds nuw i8, ptr %others, i64 127
  store i8 %all.fca.127.load, ptr %all.fca.127.gep, align 1
  %promoted = zext i32 %processor to i64
  %index = lshr i64 %promoted, 3
  %byte.at = getelementptr i8, ptr %others, i64 %index
  %byte = load i8, ptr %byte.at, align 1
  %0 = trunc i32 %processor to i8
  %shift = and i8 %0, 7
  %bit = shl nuw i8 1, %shift
  %mask = xor i8 %bit, -1
  %without = and i8 %byte, %mask
  store i8 %without, ptr %byte.at, align 1
  %moved = call i32 @sched_setaffinity(i32 0, i64 128, ptr nonnull %others) #0
  %again = call i32 @sched_setaffinity(i32 0, i64 128, ptr nonnull %allowed) #0
  br label %done

done:                                             ; preds = %move, %ask, %entry
  ret void
}

; Function Attrs: nounwind
define void @wengert_wake(ptr %team) #0 {
entry:
  %nobody = icmp eq ptr %team, null
  br i1 %nobody, label %done, label %some

some:                                             ; preds = %entry
  %grains = load i64, ptr %team, align 8
  %alone = icmp ult i64 %grains, 2
  br i1 %alone, label %done, label %call

call:                                             ; preds = %some
  %bell.at = getelementptr inbounds nuw i8, ptr %team, i64 384
  %sleepers.at = getelementptr inbounds nuw i8, ptr %team, i64 388
  %place.at = getelementptr inbounds nuw i8, ptr %team, i64 396
  %number.i = call i32 @sched_getcpu() #0
  store atomic i32 %number.i, ptr %place.at monotonic, align 4
  %before.i = atomicrmw add ptr %bell.at, i32 1 seq_cst, align 4
  %count.i = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %none.i = icmp eq i32 %count.i, 0
  br i1 %none.i, label %done, label %call.i

call.i:                                           ; preds = %call
  call void @wake(ptr nonnull %bell.at)
  br label %done

done:                                             ; preds = %call.i, %call, %some, %entry
  ret void
}

; Function Attrs: nounwind
define void @wengert_stop(ptr %team) #0 {
  %stop.at = getelementptr inbounds nuw i8, ptr %team, i64 392
  store atomic i32 1, ptr %stop.at seq_cst, align 4
  call void @wake(ptr nonnull %stop.at)
  call void @wengert_wake(ptr %team)
  ret void
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umax.i64(i64, i64) #2

; Function Attrs: nounwind
define i64 @wengert_threads(ptr %team) #0 {
entry:
  %nobody = icmp eq ptr %team, null
  br i1 %nobody, label %common.ret, label %some

common.ret:                                       ; preds = %entry, %some
  %common.ret.op = phi i64 [ %threads, %some ], [ 1, %entry ]
  ret i64 %common.ret.op

some:                                             ; preds = %entry
  %threads.at = getelementptr inbounds nuw i8, ptr %team, i64 40
  %threads = load i64, ptr %threads.at, align 8
  br label %common.ret
}

; Function Attrs: nounwind
define internal void @rouse(ptr %team, i64 %start, i64 %first, i64 %others) #0 {
entry:
  %sleepers.at = getelementptr inbounds nuw i8, ptr %team, i64 388
  %surplus.at = getelementptr inbounds nuw i8, ptr %team, i64 48
  %surplus = load i64, ptr %surplus.at, align 8
  %sleepers = load atomic i32, ptr %sleepers.at monotonic, align 4
  %asleep = zext i32 %sleepers to i64
  %missing = icmp ult i64 %surplus, %asleep
  br i1 %missing, label %look, label %done

look:                                             ; preds = %entry
  %now = call i64 @clock()
  %chunk = sub i64 %now, %start
  %product = mul i64 %chunk, %others
  %0 = or i64 %product, %first
  %1 = and i64 %0, -4294967296
  %2 = icmp eq i64 %1, 0
  br i1 %2, label %3, label %8

3:                                                ; preds = %look
  %4 = trunc i64 %first to i32
  %5 = trunc i64 %product to i32
  %6 = udiv i32 %5, %4
  %7 = zext i32 %6 to i64
  br label %10

8:                                                ; preds = %look
  %9 = udiv i64 %product, %first
  br label %10

10:                                               ; preds = %8, %3
  %11 = phi i64 [ %7, %3 ], [ %9, %8 ]
  %long = icmp sgt i64 %11, 200000
  br i1 %long, label %wake, label %done

wake:                                             ; preds = %10
  call void @wengert_wake(ptr %team)
  br label %done

done:                                             ; preds = %wake, %10, %entry
  ret void
}

; Function Attrs: nounwind
define void @wengert_share(ptr %team, ptr %function, ptr %frame, i64 %tiles, i64 %most) #0 {
entry:
  %nobody = icmp eq ptr %team, null
  br i1 %nobody, label %alone, label %some

some:                                             ; preds = %entry
  %grains = load i64, ptr %team, align 8
  %enough = call i64 @llvm.umin.i64(i64 %grains, i64 %most)
  %number = call i64 @llvm.umin.i64(i64 %enough, i64 %tiles)
  %few = icmp ult i64 %number, 2
  br i1 %few, label %alone, label %publish

alone:                                            ; preds = %some, %entry
  %any.not = icmp eq i64 %tiles, 0
  br i1 %any.not, label %common.ret, label %whole

whole:                                            ; preds = %alone
  call void %function(ptr %frame, i64 0, i64 %tiles, i64 0) #0
  br label %common.ret

common.ret:                                       ; preds = %alone, %whole, %ours
  ret void

publish:                                          ; preds = %some
  %expected.at = getelementptr inbounds nuw i8, ptr %team, i64 512
  %expected = load i32, ptr %expected.at, align 8
  %parts.at = getelementptr inbounds nuw i8, ptr %team, i64 56
  %parts = load i64, ptr %parts.at, align 8
  %start = call i64 @clock()
  %0 = or i64 %tiles, %number
  %1 = and i64 %0, -4294967296
  %2 = icmp eq i64 %1, 0
  br i1 %2, label %3, label %10

3:                                                ; preds = %publish
  %4 = trunc i64 %number to i32
  %5 = trunc i64 %tiles to i32
  %6 = udiv i32 %5, %4
  %7 = urem i32 %5, %4
  %8 = zext i32 %6 to i64
  %9 = zext i32 %7 to i64
  br label %13

10:                                               ; preds = %publish
  %11 = udiv i64 %tiles, %number
  %12 = urem i64 %tiles, %number
  br label %13

13:                                               ; preds = %10, %3
  %14 = phi i64 [ %8, %3 ], [ %11, %10 ]
  %15 = phi i64 [ %9, %3 ], [ %12, %10 ]
  %sunkaddr = getelementptr inbounds i8, ptr %team, i64 136
  store ptr %function, ptr %sunkaddr, align 8
  %sunkaddr6 = getelementptr inbounds i8, ptr %team, i64 144
  store ptr %frame, ptr %sunkaddr6, align 8
  %sunkaddr7 = getelementptr inbounds i8, ptr %team, i64 152
  store i64 %14, ptr %sunkaddr7, align 8
  %sunkaddr8 = getelementptr inbounds i8, ptr %team, i64 160
  store i64 %15, ptr %sunkaddr8, align 8
  %high = shl i64 %number, 32
  %half.i2 = lshr i64 %number, 1
  %16 = or i64 %half.i2, %parts
  %17 = and i64 %16, -4294967296
  %18 = icmp eq i64 %17, 0
  br i1 %18, label %19, label %24

19:                                               ; preds = %13
  %20 = trunc i64 %parts to i32
  %21 = trunc i64 %half.i2 to i32
  %22 = udiv i32 %21, %20
  %23 = zext i32 %22 to i64
  br label %26

24:                                               ; preds = %13
  %25 = udiv i64 %half.i2, %parts
  br label %26

26:                                               ; preds = %24, %19
  %27 = phi i64 [ %23, %19 ], [ %25, %24 ]
  %portion.i5 = call i64 @llvm.umax.i64(i64 %27, i64 1)
  %open = or i64 %portion.i5, %high
  %sunkaddr9 = getelementptr inbounds i8, ptr %team, i64 128
  store atomic i64 %open, ptr %sunkaddr9 release, align 8
  br label %mine

mine:                                             ; preds = %count, %further, %26
  %this = phi i64 [ 0, %26 ], [ %next, %further ], [ %next, %count ]
  %given = phi i64 [ %portion.i5, %26 ], [ %won, %further ], [ %won, %count ]
  %own = phi i64 [ %portion.i5, %26 ], [ %owned, %further ], [ %owned, %count ]
  %known = phi i64 [ %portion.i5, %26 ], [ %begun, %further ], [ %begun, %count ]
  %end.i = add nuw i64 %given, %this
  %all.i1.i = mul i64 %this, %14
  %more.i2.i = call i64 @llvm.umin.i64(i64 %this, i64 %15)
  %tile.i3.i = add i64 %all.i1.i, %more.i2.i
  %all.i.i = mul i64 %end.i, %14
  %more.i.i = call i64 @llvm.umin.i64(i64 %end.i, i64 %15)
  %tile.i.i = add i64 %all.i.i, %more.i.i
  call void %function(ptr %frame, i64 %tile.i3.i, i64 %tile.i.i, i64 0) #0
  %left.i = sub i64 %number, %known
  %counted.i = call i64 @llvm.umin.i64(i64 %left.i, i64 %half.i2)
  %28 = or i64 %counted.i, %parts
  %29 = and i64 %28, -4294967296
  %30 = icmp eq i64 %29, 0
  br i1 %30, label %31, label %36

31:                                               ; preds = %mine
  %32 = trunc i64 %parts to i32
  %33 = trunc i64 %counted.i to i32
  %34 = udiv i32 %33, %32
  %35 = zext i32 %34 to i64
  br label %38

36:                                               ; preds = %mine
  %37 = udiv i64 %counted.i, %parts
  br label %38

38:                                               ; preds = %36, %31
  %39 = phi i64 [ %35, %31 ], [ %37, %36 ]
  %portion.i = call i64 @llvm.umax.i64(i64 %39, i64 1)
  %sunkaddr10 = getelementptr inbounds i8, ptr %team, i64 128
  %claimed = atomicrmw add ptr %sunkaddr10, i64 %portion.i monotonic, align 8
  %next = and i64 %claimed, 65535
  %shifted.i = lshr i64 %claimed, 16
  %back.i = and i64 %shifted.i, 65535
  %both.i = add nuw nsw i64 %back.i, %next
  %any.left = icmp ugt i64 %number, %both.i
  br i1 %any.left, label %further, label %ours

further:                                          ; preds = %38
  %left = sub nuw i64 %number, %both.i
  %won = call i64 @llvm.umin.i64(i64 %portion.i, i64 %left)
  %begun = add nuw i64 %won, %both.i
  %owned = add i64 %won, %own
  %first = icmp eq i64 %this, 0
  br i1 %first, label %count, label %mine

count:                                            ; preds = %further
  %others = sub i64 %number, %begun
  call void @rouse(ptr nonnull %team, i64 %start, i64 %portion.i5, i64 %others)
  br label %mine

ours:                                             ; preds = %38
  %theirs = sub i64 %number, %own
  %grains.theirs = trunc i64 %theirs to i32
  %then = add i32 %expected, %grains.theirs
  %sunkaddr11 = getelementptr inbounds i8, ptr %team, i64 512
  store atomic i32 %then, ptr %sunkaddr11 monotonic, align 4
  call void @finish(ptr nonnull %team, i32 %then, i64 %start, i64 %portion.i5, i64 %own)
  br label %common.ret
}

; Function Attrs: nounwind
define internal void @finish(ptr %team, i32 %expected, i64 %start, i64 %long, i64 %own) #0 {
entry:
  %done.at = getelementptr inbounds nuw i8, ptr %team, i64 256
  %waiting.at = getelementptr inbounds nuw i8, ptr %team, i64 260
  %wait.at = getelementptr inbounds nuw i8, ptr %team, i64 32
  %wait = load i64, ptr %wait.at, align 8
  %late = add i64 %wait, 4
  %now3 = load atomic i32, ptr %done.at acquire, align 4
  %over4 = icmp eq i32 %now3, %expected
  br i1 %over4, label %end, label %stay.preheader

stay.preheader:                                   ; preds = %entry
  br label %stay

stay:                                             ; preds = %stay.preheader, %look.backedge
  %now6 = phi i32 [ %now, %look.backedge ], [ %now3, %stay.preheader ]
  %looks5 = phi i64 [ %more, %look.backedge ], [ 0, %stay.preheader ]
  %patient = icmp ult i64 %looks5, %wait
  br i1 %patient, label %again, label %give

again:                                            ; preds = %stay
  call void @llvm.x86.sse2.pause()
  br label %look.backedge

look.backedge:                                    ; preds = %again, %yield
  %now = load atomic i32, ptr %done.at acquire, align 4
  %over = icmp eq i32 %now, %expected
  %more = add i64 %looks5, 1
  br i1 %over, label %end, label %stay

give:                                             ; preds = %stay
  %awake = icmp ult i64 %looks5, %late
  br i1 %awake, label %yield, label %tired

yield:                                            ; preds = %give
  %yielded = call i32 @sched_yield() #0
  br label %look.backedge

tired:                                            ; preds = %give
  %since = call i64 @clock()
  %passed = sub i64 %since, %start
  %product = mul i64 %passed, %long
  %0 = or i64 %product, %own
  %1 = and i64 %0, -4294967296
  %2 = icmp eq i64 %1, 0
  br i1 %2, label %3, label %8

3:                                                ; preds = %tired
  %4 = trunc i64 %own to i32
  %5 = trunc i64 %product to i32
  %6 = udiv i32 %5, %4
  %7 = zext i32 %6 to i64
  br label %10

8:                                                ; preds = %tired
  %9 = udiv i64 %product, %own
  br label %10

10:                                               ; preds = %8, %3
  %11 = phi i64 [ %7, %3 ], [ %9, %8 ]
  %sunkaddr = getelementptr inbounds i8, ptr %team, i64 264
  store atomic i64 %since, ptr %sunkaddr monotonic, align 8
  %sunkaddr10 = getelementptr inbounds i8, ptr %team, i64 272
  store atomic i64 %11, ptr %sunkaddr10 monotonic, align 8
  br label %rest

rest:                                             ; preds = %rest, %10
  %seen = phi i32 [ %now6, %10 ], [ %then, %rest ]
  call void @sleep(ptr nonnull %done.at, i32 %seen, ptr nonnull %waiting.at)
  %then = load atomic i32, ptr %done.at acquire, align 4
  %finished = icmp eq i32 %then, %expected
  br i1 %finished, label %end, label %rest

end:                                              ; preds = %look.backedge, %rest, %entry
  ret void
}

; Function Attrs: nounwind
define void @wengert_worker(ptr %team, i64 %index) #0 {
entry:
  %done.at = getelementptr inbounds nuw i8, ptr %team, i64 256
  %bell.at = getelementptr inbounds nuw i8, ptr %team, i64 384
  %sleepers.at = getelementptr inbounds nuw i8, ptr %team, i64 388
  %stop.at = getelementptr inbounds nuw i8, ptr %team, i64 392
  %watchers.at = getelementptr inbounds nuw i8, ptr %team, i64 8
  %watchers = load i64, ptr %watchers.at, align 8
  %watch.at = getelementptr inbounds nuw i8, ptr %team, i64 16
  %watch = load i64, ptr %watch.at, align 8
  %yield.at = getelementptr inbounds nuw i8, ptr %team, i64 24
  %yield = load i64, ptr %yield.at, align 8
  %parts.at = getelementptr inbounds nuw i8, ptr %team, i64 56
  %parts = load i64, ptr %parts.at, align 8
  %memory = alloca [2 x i64], align 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %memory, i8 0, i64 16, i1 false)
  %heard20 = load atomic i32, ptr %bell.at acquire, align 4
  %stopped21 = load atomic i32, ptr %stop.at monotonic, align 4
  %leave.not22 = icmp eq i32 %stopped21, 0
  br i1 %leave.not22, label %look.preheader.lr.ph, label %end

look.preheader.lr.ph:                             ; preds = %entry
  %watcher = icmp ult i64 %index, %watchers
  %watcher.fr = freeze i1 %watcher
  br label %look.preheader

look.preheader:                                   ; preds = %look.preheader.lr.ph, %awake.backedge
  %heard23 = phi i32 [ %heard20, %look.preheader.lr.ph ], [ %heard, %awake.backedge ]
  br label %look.outer

look.outer:                                       ; preds = %give, %14, %look.preheader
  %looks.ph = phi i64 [ 0, %look.preheader ], [ %counted, %give ], [ 0, %14 ]
  %yields.ph = phi i64 [ 0, %look.preheader ], [ %yields.next, %give ], [ 0, %14 ]
  %until.ph = phi i64 [ 0, %look.preheader ], [ %yield, %give ], [ %yield, %14 ]
  %sunkaddr = getelementptr inbounds i8, ptr %team, i64 128
  %word10 = load atomic i64, ptr %sunkaddr monotonic, align 8
  %of11 = lshr i64 %word10, 32
  %front.i112 = and i64 %word10, 65535
  %shifted.i213 = lshr i64 %word10, 16
  %back.i314 = and i64 %shifted.i213, 65535
  %both.i415 = add nuw nsw i64 %back.i314, %front.i112
  %open16 = icmp samesign ult i64 %both.i415, %of11
  br i1 %open16, label %claim.preheader, label %closed.lr.ph

closed.lr.ph:                                     ; preds = %look.outer
  br i1 %watcher.fr, label %closed.preheader, label %idle.split

closed.preheader:                                 ; preds = %closed.lr.ph
  %umax = call i64 @llvm.umax.i64(i64 %looks.ph, i64 %watch)
  %0 = add i64 %until.ph, -1
  %1 = add i64 %looks.ph, 1
  %2 = mul i64 %umax, -1
  br label %closed

claim.preheader:                                  ; preds = %again, %look.outer
  %of.lcssa = phi i64 [ %of11, %look.outer ], [ %of, %again ]
  %both.i4.lcssa = phi i64 [ %both.i415, %look.outer ], [ %both.i4, %again ]
  br label %claim

closed:                                           ; preds = %closed.preheader, %again
  %lsr.iv29 = phi i64 [ %1, %closed.preheader ], [ %lsr.iv.next30, %again ]
  %lsr.iv = phi i64 [ %0, %closed.preheader ], [ %lsr.iv.next, %again ]
  %3 = add i64 %2, %lsr.iv29
  %exitcond.not = icmp eq i64 %3, 1
  br i1 %exitcond.not, label %idle.split, label %stay

stay:                                             ; preds = %closed
  %polite = icmp slt i64 %lsr.iv, 0
  br i1 %polite, label %give, label %again

give:                                             ; preds = %stay
  call void @part(ptr %team)
  %yielded = call i32 @sched_yield() #0
  %sunkaddr31 = getelementptr inbounds i8, ptr %team, i64 256
  %ready = load atomic i32, ptr %sunkaddr31 monotonic, align 4
  %sunkaddr32 = getelementptr inbounds i8, ptr %team, i64 512
  %ended = load atomic i32, ptr %sunkaddr32 monotonic, align 4
  %unfinished = icmp ne i32 %ready, %ended
  %yields.next = add i64 %yields.ph, 1
  %early = icmp ult i64 %yields.ph, 4096
  %free = and i1 %early, %unfinished
  %counted = select i1 %free, i64 0, i64 %lsr.iv29
  br label %look.outer

again:                                            ; preds = %stay
  call void @llvm.x86.sse2.pause()
  %sunkaddr33 = getelementptr inbounds i8, ptr %team, i64 128
  %word = load atomic i64, ptr %sunkaddr33 monotonic, align 8
  %of = lshr i64 %word, 32
  %front.i1 = and i64 %word, 65535
  %shifted.i2 = lshr i64 %word, 16
  %back.i3 = and i64 %shifted.i2, 65535
  %both.i4 = add nuw nsw i64 %back.i3, %front.i1
  %open = icmp samesign ult i64 %both.i4, %of
  %lsr.iv.next = add i64 %lsr.iv, -1
  %lsr.iv.next30 = add i64 %lsr.iv29, 1
  br i1 %open, label %claim.preheader, label %closed

claim:                                            ; preds = %claim.preheader, %work
  %all = phi i64 [ %grains, %work ], [ %of.lcssa, %claim.preheader ]
  %known = phi i64 [ %begun, %work ], [ %both.i4.lcssa, %claim.preheader ]
  %left.i = sub nsw i64 %all, %known
  %half.i = lshr i64 %all, 1
  %counted.i = call i64 @llvm.umin.i64(i64 %left.i, i64 %half.i)
  %4 = or i64 %counted.i, %parts
  %5 = and i64 %4, -4294967296
  %6 = icmp eq i64 %5, 0
  br i1 %6, label %7, label %12

7:                                                ; preds = %claim
  %8 = trunc i64 %parts to i32
  %9 = trunc i64 %counted.i to i32
  %10 = udiv i32 %9, %8
  %11 = zext i32 %10 to i64
  br label %14

12:                                               ; preds = %claim
  %13 = udiv i64 %counted.i, %parts
  br label %14

14:                                               ; preds = %12, %7
  %15 = phi i64 [ %11, %7 ], [ %13, %12 ]
  %portion.i = call i64 @llvm.umax.i64(i64 %15, i64 1)
  %high = shl nuw nsw i64 %portion.i, 16
  %sunkaddr34 = getelementptr inbounds i8, ptr %team, i64 128
  %claimed = atomicrmw add ptr %sunkaddr34, i64 %high acquire, align 8
  %grains = lshr i64 %claimed, 32
  %front.i = and i64 %claimed, 65535
  %shifted.i = lshr i64 %claimed, 16
  %back.i = and i64 %shifted.i, 65535
  %both.i = add nuw nsw i64 %back.i, %front.i
  %any.left = icmp samesign ugt i64 %grains, %both.i
  br i1 %any.left, label %work, label %look.outer

work:                                             ; preds = %14
  %left = sub nuw nsw i64 %grains, %both.i
  %won = call i64 @llvm.umin.i64(i64 %portion.i, i64 %left)
  %begun = add nuw nsw i64 %won, %both.i
  %after.neg = sub nsw i64 %grains, %back.i
  %first = sub nsw i64 %after.neg, %won
  %sunkaddr35 = getelementptr inbounds i8, ptr %team, i64 136
  %function = load ptr, ptr %sunkaddr35, align 8
  %sunkaddr36 = getelementptr inbounds i8, ptr %team, i64 144
  %frame = load ptr, ptr %sunkaddr36, align 8
  %sunkaddr37 = getelementptr inbounds i8, ptr %team, i64 152
  %size = load i64, ptr %sunkaddr37, align 8
  %sunkaddr38 = getelementptr inbounds i8, ptr %team, i64 160
  %longer = load i64, ptr %sunkaddr38, align 8
  %all.i1.i = mul i64 %size, %first
  %more.i2.i = call i64 @llvm.umin.i64(i64 %first, i64 %longer)
  %tile.i3.i = add i64 %more.i2.i, %all.i1.i
  %all.i.i = mul i64 %size, %after.neg
  %more.i.i = call i64 @llvm.umin.i64(i64 %after.neg, i64 %longer)
  %tile.i.i = add i64 %more.i.i, %all.i.i
  call void %function(ptr %frame, i64 %tile.i3.i, i64 %tile.i.i, i64 %index) #0
  %grains.done = trunc nuw nsw i64 %won to i32
  %sunkaddr39 = getelementptr inbounds i8, ptr %team, i64 256
  %before.i = atomicrmw add ptr %sunkaddr39, i32 %grains.done seq_cst, align 4
  %sunkaddr40 = getelementptr inbounds i8, ptr %team, i64 260
  %count.i = load atomic i32, ptr %sunkaddr40 seq_cst, align 4
  %cond = icmp eq i32 %count.i, 0
  br i1 %cond, label %claim, label %call.i

call.i:                                           ; preds = %work
  call void @wake(ptr nonnull %done.at)
  call void @away(ptr %team, ptr nonnull %memory)
  br label %awake.backedge

awake.backedge:                                   ; preds = %call.i, %idle.split
  %sunkaddr42 = getelementptr inbounds i8, ptr %team, i64 384
  %heard = load atomic i32, ptr %sunkaddr42 acquire, align 4
  %sunkaddr41 = getelementptr inbounds i8, ptr %team, i64 392
  %stopped = load atomic i32, ptr %sunkaddr41 monotonic, align 4
  %leave.not = icmp eq i32 %stopped, 0
  br i1 %leave.not, label %look.preheader, label %end

idle.split:                                       ; preds = %closed.lr.ph, %closed
  call void @sleep(ptr nonnull %bell.at, i32 %heard23, ptr nonnull %sleepers.at)
  br label %awake.backedge

end:                                              ; preds = %awake.backedge, %entry
  ret void
}

; Function Attrs: nounwind
define internal void @part(ptr %team) #0 {
entry:
  %place.at = getelementptr inbounds nuw i8, ptr %team, i64 396
  %place = load atomic i32, ptr %place.at monotonic, align 4
  %number.i = call i32 @sched_getcpu() #0
  %same = icmp eq i32 %place, %number.i
  br i1 %same, label %move, label %done

move:                                             ; preds = %entry
  call void @leave(i32 %number.i)
  br label %done

done:                                             ; preds = %move, %entry
  ret void
}

; Function Attrs: noinline nounwind
define internal void @away(ptr %team, ptr %memory) #1 {
entry:
  %since.at = getelementptr inbounds nuw i8, ptr %team, i64 264
  %usual.at = getelementptr inbounds nuw i8, ptr %team, i64 272
  %stop.at = getelementptr inbounds nuw i8, ptr %team, i64 392
  %time = alloca [2 x i64], align 8
  %since = load atomic i64, ptr %since.at monotonic, align 8
  %usual = load atomic i64, ptr %usual.at monotonic, align 8
  %now = call i64 @clock()
  %waited = sub i64 %now, %since
  %fair = shl i64 %usual, 2
  %late = icmp sgt i64 %waited, %fair
  br i1 %late, label %leave, label %end

leave:                                            ; preds = %entry
  %back.at = getelementptr i8, ptr %memory, i64 8
  %before = load i64, ptr %memory, align 8
  %back = load i64, ptr %back.at, align 8
  %there = sub i64 %since, %back
  %fine = shl i64 %waited, 3
  %bad = icmp slt i64 %there, %fine
  %first = shl i64 %waited, 2
  %twice = shl i64 %before, 1
  %long = call i64 @llvm.umax.i64(i64 %first, i64 %twice)
  %short = call i64 @llvm.umin.i64(i64 %long, i64 50000000)
  %length = select i1 %bad, i64 %short, i64 0
  %until = add i64 %length, %now
  store i64 %length, ptr %memory, align 8
  store i64 %until, ptr %back.at, align 8
  %over1 = icmp eq i64 %length, 0
  %stopped2 = load atomic i32, ptr %stop.at monotonic, align 4
  %told3 = icmp ne i32 %stopped2, 0
  %return4 = or i1 %over1, %told3
  br i1 %return4, label %end, label %sleep.preheader

sleep.preheader:                                  ; preds = %leave
  br label %sleep

sleep:                                            ; preds = %sleep.preheader, %sleep
  %left5 = phi i64 [ %left, %sleep ], [ %length, %sleep.preheader ]
  %seconds = udiv i64 %left5, 1000000000
  %rest = urem i64 %left5, 1000000000
  store i64 %seconds, ptr %time, align 8
  %sunkaddr = getelementptr inbounds i8, ptr %time, i64 8
  store i64 %rest, ptr %sunkaddr, align 8
  call void @nap(ptr nonnull %stop.at, i32 0, ptr nonnull %time)
  %later = call i64 @clock()
  %left = sub i64 %until, %later
  %over = icmp slt i64 %left, 1
  %stopped = load atomic i32, ptr %stop.at monotonic, align 4
  %told = icmp ne i32 %stopped, 0
  %return = or i1 %over, %told
  br i1 %return, label %end, label %sleep

end:                                              ; preds = %sleep, %leave, %entry
  ret void
}

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #3

attributes #0 = { nounwind }
attributes #1 = { noinline nounwind }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nocallback nofree nounwind willreturn memory(argmem: write) }
