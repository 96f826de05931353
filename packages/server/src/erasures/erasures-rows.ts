import './erasure-rows.ts'
