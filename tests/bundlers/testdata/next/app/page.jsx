'use client'
import { useEffect, useState } from 'react'
import { run } from '../main.js'

export default function Page() {
  const [text, say] = useState('computing')
  useEffect(() => {
    run().then((result) => { globalThis.result = result }, (e) => { globalThis.result = { error: e.stack } }).then(() => say('done'))
  }, [])
  return <p>{text}</p>
}
