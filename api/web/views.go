package web

// allViews lists the views; their order is nobody's business.
func (p *Page) allViews() []View {
	return []View{
		p.sharesView("/"),
		p.sharesView("/shares/*"),
	}
}

// acts lists what forms do.
func (p *Page) acts() []Act {
	return nil
}
