// The script of every page. Without it the page is whole; with it, it keeps up by itself.
import { chart } from "./chart";
import { icicle } from "./icicle";
import { live } from "./live";
import { tree } from "./tree";

tree();
icicle();
chart();
live();
