package runtime

// remedy is what helps where memory ends: nobody sets WEFT_MEM for a page.
const remedy = "free tensors or use smaller batches"
