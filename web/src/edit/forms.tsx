// What editors open: the forms, and what is asked before something is done. It is loaded when it is needed.
import { usePage } from "../ui/context";
import { Drafts } from "./drafts";
import { HazardForm } from "./hazard";
import { Held } from "./held";
import { Joins } from "./joins";
import { ProductForm } from "./product";

export { Questions } from "./questions";

/** Among the sources: what waits for an editor. */
export const Waiting = () => (
  <>
    <Drafts />
    <Held />
    <Joins />
  </>
);

/** The form that is open, in place of the panel. */
export function Form() {
  const { editing } = usePage();
  const task = editing.task.value;
  if (!task) return null;
  return task.kind === "product" ? <ProductForm key={task.uuid} task={task} /> : <HazardForm key={task.kind === "new" ? task.uuid : task.h.uuid} task={task} />;
}
