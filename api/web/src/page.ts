// The script of every page. Without it the page is whole; with it, it keeps up by itself.
import { live } from "./live";
import { tree } from "./tree";
import { icicle } from "./icicle";

live();
tree();
icicle();
