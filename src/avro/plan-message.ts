import { ArrayElements } from './array-elements.ts';
import type { FieldShape, Shape } from './event-shape.ts';
import type { Plan } from './plan.ts';
import { Place, SpanFinder } from './span-finder.ts';

/** The plans of a message's fields, and the finder of their values. */
export function planMessage(fields: readonly FieldShape[]): { finder: SpanFinder; plans: Plan[] } {
  return compile((places) => planFields(fields, places));
}

/** Hands out places with slots, and makes the finder of them. */
type Places = { readonly root: Place; readonly arrays: ArrayElements[]; slotAt(place: Place): number };

function compile<T>(plan: (places: Places) => T): { finder: SpanFinder; plans: T } {
  const root = new Place();
  const arrays: ArrayElements[] = [];
  let slots = 0;
  const slotAt = (place: Place) => {
    place.slots.push(slots);
    return slots++;
  };
  const plans = plan({ root, arrays, slotAt });
  return { finder: new SpanFinder(root, slots, arrays), plans };
}

function planFields(fields: readonly FieldShape[], places: Places, from = places.root): Plan[] {
  return fields.map(({ pointer, path, shape }) => planShape(shape, path, places, from.at(pointer)));
}

function planShape(shape: Shape, path: string, places: Places, place: Place): Plan {
  const base = { slot: places.slotAt(place), path };
  if (shape.kind === 'value') return { ...base, ...shape };
  if (shape.kind === 'record') {
    return { ...base, kind: 'record', fields: planFields(shape.fields, places, place) };
  }
  const { finder, plans } = compile((own) => planShape(shape.items, shape.path, own, own.root));
  const elements = new ArrayElements(finder, plans);
  place.arrays.push(elements);
  places.arrays.push(elements);
  return { ...base, kind: 'array', elements };
}
