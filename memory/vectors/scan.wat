(module
  ;; Rows of signed bytes, one after the other; a row and the query have the same multiple of 16
  ;; components. The query is widened to 16 bits, so it takes twice the bytes of a row.
  (memory (export "memory") 1 65536)
  ;; out[i] = dot product of the query and row i, for count rows
  (func (export "scan")
    (param $query i32) (param $row i32) (param $count i32) (param $bytes i32) (param $out i32)
    (local $sum v128) (local $more v128) (local $bytesOfRow v128) (local $at i32) (local $q i32)
    (block $done
      (loop $rows
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $sum (v128.const i32x4 0 0 0 0))
        (local.set $more (v128.const i32x4 0 0 0 0))
        (local.set $q (local.get $query))
        (local.set $at (i32.const 0))
        (loop $components
          (local.set $bytesOfRow (v128.load (i32.add (local.get $row) (local.get $at))))
          (local.set $sum (i32x4.add (local.get $sum) (i32x4.dot_i16x8_s
            (v128.load (local.get $q))
            (i16x8.extend_low_i8x16_s (local.get $bytesOfRow)))))
          (local.set $more (i32x4.add (local.get $more) (i32x4.dot_i16x8_s
            (v128.load offset=16 (local.get $q))
            (i16x8.extend_high_i8x16_s (local.get $bytesOfRow)))))
          (local.set $q (i32.add (local.get $q) (i32.const 32)))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br_if $components (i32.lt_u (local.get $at) (local.get $bytes))))
        (local.set $sum (i32x4.add (local.get $sum) (local.get $more)))
        (i32.store (local.get $out) (i32.add
          (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
          (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))
        (local.set $row (i32.add (local.get $row) (local.get $bytes)))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $rows)))))
