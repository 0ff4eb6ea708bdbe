// Hands what the microphone hears on, as it comes.
registerProcessor('recorder', class extends AudioWorkletProcessor {
  process([[channel]]) {
    if (channel) this.port.postMessage(channel.slice())
    return true
  }
})
