import { encodeJpeg } from './jpeg.ts';

/** What a simulated camera sees. The same scene gives the same bytes. */
export interface Scene {
  readonly id: string;
  /** Counts the pictures; shown in the lower left corner, so no two are alike. */
  readonly counter: number;
  /** The camera's time, milliseconds since 1970; shown as UTC in the upper right corner. */
  readonly timeMs: number;
  readonly person: boolean;
  readonly motion: boolean;
  readonly tampered: boolean;
}

const columns = 80;
const rows = 45;

/** A 640 x 360 picture of a yard, with id, time and counter in block letters. */
export function takePicture(scene: Scene, minBytes = 0): Buffer {
  const tiles = new Uint32Array(columns * rows);
  const paint = (column: number, row: number, colour: number) => {
    if (column >= 0 && column < columns && row >= 0 && row < rows) tiles[row * columns + column] = colour;
  };
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) paint(column, row, scene.tampered ? 0x101010 : ground(row));
  }
  if (!scene.tampered) {
    block(paint, { column: 58, row: 14, width: 9, height: 18 }, 0x6b4226);
    const sway = scene.counter % 24;
    if (scene.motion) block(paint, { column: 8 + sway, row: 24, width: 4, height: 6 }, 0x3a7d2c);
    if (scene.person) figure(paint, 30 + (scene.counter % 20));
  }
  write(paint, 1, 1, scene.id.slice(0, 8));
  write(paint, 45, 1, new Date(scene.timeMs).toISOString().slice(11, 19));
  write(paint, 1, rows - 6, String(scene.counter).padStart(6, '0'));
  return encodeJpeg({ columns, rows, at: (column, row) => tiles[row * columns + column] ?? 0 }, minBytes);
}

type Paint = (column: number, row: number, colour: number) => void;

const ground = (row: number): number => (row < 20 ? 0x9fb8c8 - row * 0x020202 : 0x77806e - row * 0x010101);

interface Box {
  readonly column: number;
  readonly row: number;
  readonly width: number;
  readonly height: number;
}

function block(paint: Paint, box: Box, colour: number): void {
  for (let row = 0; row < box.height; row += 1) {
    for (let column = 0; column < box.width; column += 1) paint(box.column + column, box.row + row, colour);
  }
}

function figure(paint: Paint, column: number): void {
  block(paint, { column: column + 1, row: 18, width: 3, height: 3 }, 0xd9a27a);
  block(paint, { column, row: 21, width: 5, height: 8 }, 0x1e2a52);
  block(paint, { column, row: 29, width: 2, height: 7 }, 0x20202a);
  block(paint, { column: column + 3, row: 29, width: 2, height: 7 }, 0x20202a);
}

/** Rows of three dots from top to bottom, one octal digit each. */
const glyphs: Readonly<Record<string, string>> = {
  '0': '75557',
  '1': '26227',
  '2': '71747',
  '3': '71717',
  '4': '55711',
  '5': '74717',
  '6': '74757',
  '7': '71222',
  '8': '75757',
  '9': '75717',
  ':': '02020',
  '-': '00700',
  A: '25755',
  B: '65656',
  C: '34443',
  D: '65556',
  E: '74647',
  F: '74644',
  G: '34553',
  H: '55755',
  I: '72227',
  J: '11152',
  K: '55655',
  L: '44447',
  M: '57755',
  N: '65555',
  O: '25552',
  P: '65644',
  Q: '25563',
  R: '65655',
  S: '34216',
  T: '72222',
  U: '55557',
  V: '55552',
  W: '55775',
  X: '55255',
  Y: '55222',
  Z: '71247',
};

function write(paint: Paint, column: number, row: number, text: string): void {
  const letters = [...text.toUpperCase()];
  block(paint, { column: column - 1, row: row - 1, width: letters.length * 4 + 1, height: 7 }, 0x000000);
  for (const [place, letter] of letters.entries()) {
    for (const [line, dots] of [...(glyphs[letter] ?? glyphs['-'] ?? '')].entries()) {
      for (let dot = 0; dot < 3; dot += 1) {
        if ((Number(dots) >> (2 - dot)) & 1) paint(column + place * 4 + dot, row + line, 0xffffff);
      }
    }
  }
}
