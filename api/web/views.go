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
		p.queuesView(),
		p.queueView(),
		p.tasksView(),
		p.taskView(),
		p.jobView(),
		p.resourcesView(),
		p.resourceView(),
		p.claimsView(),
		p.claimView(),
		p.decisionsView(),
		p.changesView(),
	}
}

// acts lists what forms do.
func (p *Page) acts() []Act {
	return append(p.workActs(),
		Act{Path: "/what-if", Serve: p.rehearse},
		Act{Path: "/apply", Serve: p.apply},
	)
}
