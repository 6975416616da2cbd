package strict

// ManyValues says whether a JSON text may have more than most values, without taking it apart: every value but the first stands
// behind one of , : [ and { outside of a text. Taken apart, a value takes up to a hundred times the memory of its text.
func ManyValues(text []byte, most int) bool {
	return len(text) > most && Values(text, most) >= most
}

// Values counts the values of a JSON text but for one, up to most: what ManyValues looks at.
func Values(text []byte, most int) (n int) {
	inText := false
	for i := 0; i < len(text) && n < most; i++ {
		switch c := text[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			i++
		case !inText && (c == ',' || c == '[' || c == '{' || c == ':'):
			n++
		}
	}
	return n
}
