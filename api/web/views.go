package web

// allViews lists the views; their order is nobody's business.
func (p *Page) allViews() []View {
	return []View{
		p.sharesView("/"),
		p.sharesView("/shares/*"),
		p.seriesView(),
		p.versionsView(),
		p.versionView(),
		p.whatIfView(),
	}
}

// acts lists what forms do.
func (p *Page) acts() []Act {
	return []Act{
		{Path: "/what-if", Serve: p.rehearse},
		{Path: "/apply", Serve: p.apply},
	}
}
