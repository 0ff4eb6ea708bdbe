// stub
export class Player { constructor(lost) { this.lost = lost } imports() { return {} } }
